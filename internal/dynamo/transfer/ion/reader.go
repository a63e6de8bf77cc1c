package ion

import (
	"io"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Next returns the next record as JSON, in the form of an export in DynamoDB JSON: an object
// with Item, or with Keys, NewImage and OldImage. It also returns the line where the record
// begins. The JSON is valid until the next call. The error is io.EOF after the last record,
// an *Error, or that of the reader.
func (r *Reader) Next() (record []byte, line int, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			record, err = nil, e.error
		default:
			panic(e)
		}
	}()
	if !r.seek() {
		return nil, r.line, io.EOF
	}
	line = r.line
	r.text = r.record(r.text[:0], true)
	return r.text, line, nil
}

// seek moves to the next record. It returns false at the end of the text.
func (r *Reader) seek() bool {
	for {
		r.used = 0
		r.space()
		switch c := r.peek(); {
		case c == eof && r.listed:
			r.fail("the list of records has no end")
		case c == eof:
			return false
		case c == '{':
			return true
		case c == '[' && !r.listed:
			r.listed = true
			r.next()
		case c == ']' && r.listed:
			r.listed = false
			r.next()
		case c == ',' && r.listed:
			r.next()
		case isLetter(c):
			if name := r.symbol(); name != "$ion_1_0" {
				r.fail("%.40q is neither $ion_1_0 nor a record", name)
			}
		default:
			r.fail("%q is not the beginning of a record such as {Item:{...}}", rune(c))
		}
	}
}

// record appends a record. Incremental exports have it inside of a struct with the member
// Record.
func (r *Reader) record(dst []byte, outer bool) []byte {
	r.expect('{')
	dst = append(dst, '{')
	begin := len(dst)
	for r.more('}', len(dst) > begin) {
		switch name := r.name(); name {
		case "Item", "Keys", "NewImage", "OldImage":
			if len(dst) > begin {
				dst = append(dst, ',')
			}
			dst = append(wire.AppendQuoted(dst, []byte(name)), ':')
			dst = r.attributes(dst, 1)
		case "Metadata":
			r.value(nil, 1)
		case "Record":
			if !outer || len(dst) > begin {
				r.fail("Record is not alone in the outer struct")
			}
			dst = r.record(dst[:0], false)
			if r.space(); r.peek() != '}' {
				r.fail("Record is not alone in the outer struct")
			}
			r.next()
			return dst
		default:
			r.fail("a record has no member %.40q; allowed: Item, Record, Keys, NewImage, OldImage, Metadata", name)
		}
	}
	if len(dst) == begin {
		r.fail("a record without Item or Keys")
	}
	return append(dst, '}')
}

// more reports whether a struct or a list has another element, and reads the comma before
// it. At the end it reads the bracket.
func (r *Reader) more(end byte, another bool) bool {
	r.space()
	c := r.peek()
	if c == ',' && another {
		r.next()
		r.space()
		c = r.peek()
	} else if another && c != int(end) {
		r.fail("expected a comma or %q", end)
	}
	if c == int(end) {
		r.next()
		return false
	}
	if c == eof {
		r.fail("the text ends inside of a record")
	}
	return true
}

// name reads the name of a struct's member, and the colon.
func (r *Reader) name() string {
	var name string
	switch c := r.peek(); {
	case c == '"':
		name = string(r.short('"'))
	case c == '\'' && r.ahead("'''"):
		name = string(r.long())
	case c == '\'':
		name = string(r.short('\''))
	case isLetter(c):
		name = r.symbol()
	default:
		r.fail("expected the name of a member")
	}
	r.space()
	r.expect(':')
	return name
}
