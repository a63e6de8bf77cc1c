package api

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// DatabaseReplaced reports whether the database at the position now can't be the one that
// was at the position before: its sequence is lower, or its files differ. Both positions are
// JSON, from the same node. For positions that can't be compared it returns false.
func DatabaseReplaced(before, now string) bool {
	b, n := parsePosition(before), parsePosition(now)
	if b.shards != nil && n.shards != nil {
		for name, was := range b.shards {
			if is, ok := n.shards[name]; ok && (is.uuid != was.uuid && is.uuid != "" && was.uuid != "" || is.seq < was.seq) {
				return true
			}
		}
		return false
	}
	if b.shards != nil || n.shards != nil || !b.valid || !n.valid {
		return false
	}
	return n.number < b.number || b.node != n.node && b.node != "" && n.node != ""
}

// SequenceDecreased reports whether the number of a position is lower than that of an earlier
// one. It is a cheap check for each row, before DatabaseReplaced.
func SequenceDecreased(before, now string) bool {
	b, _, bok := cutPosition(before)
	n, _, nok := cutPosition(now)
	return bok && nok && n < b
}

// position is a parsed position. All products have number only: the number of changes that
// the database has had. CouchDB 2 and 3 append the packed sequence of each shard.
type position struct {
	number uint64
	valid  bool
	node   string // the text after the number, if it is not packed
	shards map[string]shard
}

// shard is the position of one file of a database.
type shard struct {
	seq  int64
	uuid string // a prefix of the file's UUID; "" if it has no changes, or in old versions
}

func parsePosition(text string) (p position) {
	p.number, p.node, p.valid = cutPosition(text)
	if p.shards = unpackShards(p.node); p.shards != nil {
		p.node = ""
	}
	return p
}

// cutPosition splits a position: 12, "12-rest" or [12,"rest"].
func cutPosition(text string) (number uint64, rest string, ok bool) {
	if strings.HasPrefix(text, "[") {
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil || len(list) != 2 || json.Unmarshal(list[1], &rest) != nil {
			return 0, "", false
		}
		text = string(list[0])
	} else if strings.HasPrefix(text, `"`) {
		text = strings.Trim(text, `"`)
		text, rest, _ = strings.Cut(text, "-")
	}
	number, err := strconv.ParseUint(text, 10, 64)
	return number, rest, err == nil
}

// maxPacked is the maximum size of the unpacked part of a position.
const maxPacked = 1 << 20

// unpackShards decodes the packed part of a position, which is in Erlang's external term
// format: a list of {Node, Range, Sequence}, where a Sequence is a number or {Number, UUID,
// Node}. It returns nil for anything else.
func unpackShards(text string) map[string]shard {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(raw) < 2 || raw[0] != 131 {
		return nil
	}
	raw = raw[1:]
	if raw[0] == 80 { // compressed, after its length
		if len(raw) < 5 {
			return nil
		}
		z, err := zlib.NewReader(bytes.NewReader(raw[5:]))
		if err != nil {
			return nil
		}
		if raw, err = io.ReadAll(io.LimitReader(z, maxPacked)); err != nil {
			return nil
		}
	}
	t, _, ok := decodeTerm(raw, 0)
	list, isList := t.([]any)
	if !ok || !isList {
		return nil
	}
	shards := map[string]shard{}
	for _, e := range list {
		name, s, ok := shardOf(e)
		if !ok {
			return nil
		}
		shards[name] = s
	}
	return shards
}

func shardOf(t any) (name string, s shard, ok bool) {
	tuple, _ := t.([]any)
	if len(tuple) != 3 {
		return "", s, false
	}
	node, _ := tuple[0].(string)
	bounds, _ := tuple[1].([]any)
	if len(bounds) != 2 {
		return "", s, false
	}
	from, _ := bounds[0].(int64)
	to, _ := bounds[1].(int64)
	name = node + " " + strconv.FormatInt(from, 16) + "-" + strconv.FormatInt(to, 16)
	switch seq := tuple[2].(type) {
	case int64:
		return name, shard{seq: seq}, true
	case []any:
		if len(seq) != 3 {
			return "", s, false
		}
		s.seq, ok = seq[0].(int64)
		s.uuid, _ = seq[1].(string) // not a string while a shard is being split
		return name, s, ok
	}
	return "", s, false
}

// maxDepth is the maximum nesting of terms.
const maxDepth = 8

// decodeTerm decodes an Erlang term: integers as int64, atoms and binaries as string, tuples
// and lists as []any.
func decodeTerm(b []byte, depth int) (t any, rest []byte, ok bool) {
	if len(b) == 0 || depth > maxDepth {
		return nil, nil, false
	}
	tag, b := b[0], b[1:]
	size := func(bytes int) (n int, ok bool) {
		if len(b) < bytes {
			return 0, false
		}
		for _, c := range b[:bytes] {
			n = n<<8 | int(c)
		}
		b = b[bytes:]
		return n, true
	}
	text := func(bytes int) (any, []byte, bool) {
		n, ok := size(bytes)
		if !ok || n > len(b) {
			return nil, nil, false
		}
		return string(b[:n]), b[n:], true
	}
	switch tag {
	case 97: // SMALL_INTEGER_EXT
		n, ok := size(1)
		return int64(n), b, ok
	case 98: // INTEGER_EXT
		n, ok := size(4)
		return int64(int32(n)), b, ok
	case 110: // SMALL_BIG_EXT, little-endian
		n, ok := size(1)
		if !ok || n > 8 || len(b) < 1+n || b[0] != 0 {
			return nil, nil, false
		}
		var number [8]byte
		copy(number[:], b[1:1+n])
		return int64(binary.LittleEndian.Uint64(number[:])), b[1+n:], true
	case 100, 118: // ATOM_EXT, ATOM_UTF8_EXT
		return text(2)
	case 115, 119: // SMALL_ATOM_EXT, SMALL_ATOM_UTF8_EXT
		return text(1)
	case 109: // BINARY_EXT
		return text(4)
	case 104: // SMALL_TUPLE_EXT
		n, ok := size(1)
		return decodeTerms(b, n, depth, ok)
	case 106: // NIL_EXT
		return []any{}, b, true
	case 108: // LIST_EXT, with a tail that is NIL_EXT
		n, ok := size(4)
		t, rest, ok := decodeTerms(b, n, depth, ok)
		if !ok || len(rest) == 0 || rest[0] != 106 {
			return nil, nil, false
		}
		return t, rest[1:], true
	case 107: // STRING_EXT: a list of small integers
		n, ok := size(2)
		if !ok || n > len(b) {
			return nil, nil, false
		}
		var list []any
		for _, c := range b[:n] {
			list = append(list, int64(c))
		}
		return list, b[n:], true
	}
	return nil, nil, false
}

func decodeTerms(b []byte, n, depth int, ok bool) (any, []byte, bool) {
	if !ok || n > len(b) { // each takes at least one byte
		return nil, nil, false
	}
	list := make([]any, 0, min(n, 1024))
	for range n {
		var t any
		if t, b, ok = decodeTerm(b, depth+1); !ok {
			return nil, nil, false
		}
		list = append(list, t)
	}
	return list, b, true
}
