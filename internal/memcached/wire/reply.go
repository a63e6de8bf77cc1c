package wire

import "bytes"

// Kind is the kind of a reply.
type Kind uint8

const (
	// Value is VALUE of text or VA of meta; Size bytes and CRLF follow.
	Value Kind = iota + 1
	// End is the end of a text get, or of statistics.
	End
	// Miss is EN: meta has no such item. Some servers repeat the key and other parts of the
	// request, as with a value, and some do not.
	Miss
	// Done is HD: a meta command was executed.
	Done
	Stored
	NotStored
	Exists
	NotFound
	Deleted
	// NoOp is MN, the answer to Probe.
	NoOp
	// Release is VERSION.
	Release
	// Stat is a line of statistics, with name and value in Text; a binary one has its name
	// in Key.
	Stat
	// TooLarge refuses a value for its size, in a binary reply; a text reply is an error.
	TooLarge
	// Error, ClientError and ServerError refuse a command; Text has the reason.
	Error
	ClientError
	ServerError
)

// Reply is a line of a reply, or the head of a binary one. Its slices refer to the parsed
// bytes.
type Reply struct {
	Kind Kind
	Text []byte // of Stat, Release and the errors: the rest of the line; not of a binary reply

	// Of binary replies.
	Status uint16 // 0 for success
	Opaque uint32 // of the command
	opcode byte

	// Of Value; Key also of a Miss that has it, Size of every binary reply.
	Meta   bool
	Key    []byte
	Flags  uint32
	Size   int64
	CAS    uint64
	HasCAS bool
	// TTL is the number of seconds left, -1 for no expiry.
	TTL    int64
	HasTTL bool
	// Won, Stale and Waiting are W, X and Z: this reader is to refresh the item; the item is
	// stale; another reader is refreshing it.
	Won, Stale, Waiting bool
}

// firstWords are the kinds of replies by their first word.
var firstWords = [...]struct {
	word string
	kind Kind
	rest bool // more may follow
}{
	{"END", End, false},
	{"HD", Done, true},
	{"STORED", Stored, false},
	{"NOT_STORED", NotStored, false},
	{"EXISTS", Exists, false},
	{"NOT_FOUND", NotFound, false},
	{"DELETED", Deleted, false},
	{"NS", NotStored, true},
	{"EX", Exists, true},
	{"NF", NotFound, true},
	{"MN", NoOp, false},
	{"VERSION", Release, true},
	{"STAT", Stat, true},
	{"ERROR", Error, true},
	{"CLIENT_ERROR", ClientError, true},
	{"SERVER_ERROR", ServerError, true},
}

// Parse parses a line without its CRLF. It returns false if that is not a reply, or one that
// the protocol does not have.
func (r *Reply) Parse(line []byte) bool {
	*r = Reply{}
	word, rest := cut(line)
	switch string(word) {
	case "VALUE":
		return r.textValue(rest)
	case "VA":
		return r.metaValue(rest)
	case "EN":
		r.Kind = Miss
		return r.metaFlags(rest) && (r.Key == nil || CheckKey(r.Key) == nil)
	}
	for i := range firstWords {
		if w := &firstWords[i]; string(word) == w.word {
			r.Kind, r.Text = w.kind, rest
			return w.rest || len(word) == len(line)
		}
	}
	return false
}

// textValue parses `key flags bytes [cas]`.
func (r *Reply) textValue(rest []byte) bool {
	r.Kind = Value
	r.Key, rest = cut(rest)
	flags, rest := cut(rest)
	size, cas := cut(rest)
	if r.HasCAS = len(cas) > 0; r.HasCAS {
		n, ok := number(cas)
		if !ok {
			return false
		}
		r.CAS = n
	}
	return CheckKey(r.Key) == nil && r.flags(flags) && r.size(size)
}

// metaValue parses `bytes flag...`.
func (r *Reply) metaValue(rest []byte) bool {
	r.Kind, r.Meta = Value, true
	size, rest := cut(rest)
	return r.size(size) && r.metaFlags(rest) && CheckKey(r.Key) == nil
}

// metaFlags parses `flag...`.
func (r *Reply) metaFlags(rest []byte) bool {
	for len(rest) > 0 {
		var flag []byte
		if flag, rest = cut(rest); len(flag) == 0 || !r.flag(flag[0], flag[1:]) {
			return false
		}
	}
	return true
}

// flag parses a flag of a meta reply. Flags that were not requested are ignored.
func (r *Reply) flag(name byte, value []byte) bool {
	ok := true
	switch name {
	case 'k':
		r.Key = value
	case 'f':
		ok = r.flags(value)
	case 'c':
		r.CAS, ok = number(value)
		r.HasCAS = ok
	case 't':
		ok = r.ttl(value)
	case 'W':
		r.Won = true
	case 'X':
		r.Stale = true
	case 'Z':
		r.Waiting = true
	}
	return ok
}

func (r *Reply) flags(b []byte) bool {
	n, ok := number(b)
	r.Flags = uint32(n)
	return ok && n < 1<<32
}

func (r *Reply) size(b []byte) bool {
	n, ok := number(b)
	r.Size = int64(n)
	return ok && n < 1<<62
}

func (r *Reply) ttl(b []byte) bool {
	r.HasTTL = true
	if string(b) == "-1" {
		r.TTL = -1
		return true
	}
	n, ok := number(b)
	r.TTL = int64(n)
	return ok && n < 1<<32
}

// cut splits b at the first space.
func cut(b []byte) (word, rest []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// number parses decimal digits.
func number(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
