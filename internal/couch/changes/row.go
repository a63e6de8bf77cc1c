package changes

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Row is one change of a database. Its slices are valid until the next row is
// parsed into the same Row.
type Row struct {
	ID      []byte // "_design/x" for a design document
	Rev     []byte // the winning revision
	Deleted bool   // the winning revision is a deletion
	Seq     []byte // the position behind this row, as JSON; nil or "null" if none is told

	scratch [2][]byte // where escaped text is written out
}

// Update is one event of _db_updates.
type Update struct {
	DB   []byte
	Type []byte // created, updated, deleted
	Seq  []byte // as JSON

	scratch [2][]byte
}

// Parse fills the row from a change's JSON. The JSON must be valid.
func (row *Row) Parse(object []byte) error {
	row.ID, row.Rev, row.Seq, row.Deleted = nil, nil, nil, false
	for f := (fields{rest: object[1:]}); f.next(); {
		switch {
		case f.is("id"):
			row.ID = f.text(&row.scratch[0])
		case f.is("seq"):
			row.Seq = f.value
		case f.is("deleted"):
			row.Deleted = string(f.value) == "true"
		case f.is("changes"):
			row.Rev = firstRev(f.value, &row.scratch[1])
		}
	}
	if len(row.ID) == 0 || len(row.Rev) == 0 {
		return fmt.Errorf("%w: a row without id or revision: %.80q", errMalformed, object)
	}
	return nil
}

// firstRev returns the revision in [{"rev":"1-a"}, ...]: the winner stands first.
func firstRev(list []byte, scratch *[]byte) []byte {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	list = skipSpace(list[1:])
	if len(list) == 0 || list[0] != '{' {
		return nil
	}
	var rev []byte
	for f := (fields{rest: list[1:]}); f.next(); {
		if f.is("rev") {
			rev = f.text(scratch)
		}
	}
	return rev
}

// Parse fills the update from an event's JSON, which must be valid.
func (u *Update) Parse(object []byte) error {
	u.DB, u.Type, u.Seq = nil, nil, nil
	for f := (fields{rest: object[1:]}); f.next(); {
		switch {
		case f.is("db_name"):
			u.DB = f.text(&u.scratch[0])
		case f.is("type"):
			u.Type = f.text(&u.scratch[1])
		case f.is("seq"):
			u.Seq = f.value
		}
	}
	if len(u.DB) == 0 || len(u.Type) == 0 {
		return fmt.Errorf("%w: an event without name or type: %.80q", errMalformed, object)
	}
	return nil
}

// lastSeq returns the value of "last_seq" in an object.
func lastSeq(object []byte) (seq []byte) {
	for f := (fields{rest: object[1:]}); f.next(); {
		if f.is("last_seq") {
			seq = f.value
		}
	}
	return seq
}

// hasLast tells whether an object is the last of a continuous feed.
func hasLast(object []byte) bool { return lastSeq(object) != nil }

// fields goes through the members of an object that is known to be valid JSON.
type fields struct {
	rest  []byte // behind the opening brace, then behind each value
	name  []byte // in quotes
	value []byte
}

func (f *fields) next() bool {
	f.rest = skipSpace(f.rest)
	if f.rest[0] == ',' {
		f.rest = skipSpace(f.rest[1:])
	}
	if f.rest[0] == '}' {
		return false
	}
	f.name, f.rest = cutValue(f.rest)
	f.rest = skipSpace(f.rest)[1:] // the colon
	f.value, f.rest = cutValue(skipSpace(f.rest))
	return true
}

// is tells whether the member has that name, which must not need escapes.
func (f *fields) is(name string) bool {
	if len(f.name) == len(name)+2 {
		return string(f.name[1:len(f.name)-1]) == name
	}
	if len(f.name) < len(name)+2 || len(f.name) > 6*len(name)+2 {
		return false
	}
	var scratch []byte
	return string(unquote(f.name, &scratch)) == name
}

// text returns the member's text, or nil if it is not text.
func (f *fields) text(scratch *[]byte) []byte {
	if f.value[0] != '"' {
		return nil
	}
	return unquote(f.value, scratch)
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// cutValue takes the value that valid JSON begins with.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += len(quoted(b[i:])) - 1
		case '{', '[':
			depth++
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			if closes := b[i] == '}' || b[i] == ']'; closes && depth > 0 {
				depth--
			} else if depth > 0 {
				continue
			} else { // behind a number or a word
				return b[:i], b[i:]
			}
		default:
			continue
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
	return b, nil
}

// quoted returns the text in quotes that b begins with.
func quoted(b []byte) []byte {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1]
		}
	}
	return b
}

// unquote returns what text in quotes says. It uses scratch if there are escapes.
func unquote(text []byte, scratch *[]byte) []byte {
	text = text[1 : len(text)-1]
	plain := true
	for _, c := range text {
		plain = plain && c != '\\'
	}
	if plain {
		return text
	}
	out := (*scratch)[:0]
	for len(text) > 0 {
		if text[0] != '\\' {
			out = append(out, text[0])
			text = text[1:]
			continue
		}
		out, text = appendEscape(out, text)
	}
	*scratch = out
	return out
}

// appendEscape appends what the escape that text begins with stands for.
func appendEscape(out, text []byte) (_, rest []byte) {
	switch c := text[1]; c {
	case 'b':
		return append(out, '\b'), text[2:]
	case 'f':
		return append(out, '\f'), text[2:]
	case 'n':
		return append(out, '\n'), text[2:]
	case 'r':
		return append(out, '\r'), text[2:]
	case 't':
		return append(out, '\t'), text[2:]
	case 'u':
	default:
		return append(out, c), text[2:]
	}
	r, text := hex4(text[2:]), text[6:]
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
			pair = utf16.DecodeRune(r, hex4(text[2:]))
		}
		if pair != utf8.RuneError {
			text = text[6:]
		}
		r = pair
	}
	return utf8.AppendRune(out, r), text
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
