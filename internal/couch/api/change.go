package api

import (
	"fmt"
)

// Change is one row of a _changes feed. Its slices are valid until the next Parse.
type Change struct {
	ID      []byte // "_design/x" for a design document
	Rev     []byte // the winning revision
	Deleted bool   // the winning revision is a deletion
	Seq     []byte // the position after this row as JSON; nil or "null" if there is none

	scratch [2][]byte // for unescaped text
}

// Parse sets the fields from a row's JSON, which must be valid.
func (row *Change) Parse(text []byte) error {
	row.ID, row.Rev, row.Seq, row.Deleted = nil, nil, nil, false
	for f := MembersOf(text); f.Next(); {
		switch {
		case f.Is("id"):
			row.ID = f.Text(&row.scratch[0])
		case f.Is("seq"):
			row.Seq = f.Value
		case f.Is("deleted"):
			row.Deleted = string(f.Value) == "true"
		case f.Is("changes"):
			row.Rev = firstRev(f.Value, &row.scratch[1])
		}
	}
	if len(row.ID) == 0 || len(row.Rev) == 0 {
		return fmt.Errorf("%w: a row without id or revision: %.80q", ErrMalformed, text)
	}
	return nil
}

// firstRev returns the first revision, which is the winner, in [{"rev":"1-a"}, ...].
func firstRev(list []byte, scratch *[]byte) []byte {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	first := ElementsOf(list)
	if !first.Next() || first.Value[0] != '{' {
		return nil
	}
	var rev []byte
	for f := MembersOf(first.Value); f.Next(); {
		if f.Is("rev") {
			rev = f.Text(scratch)
		}
	}
	return rev
}

// LastSeq returns the value of "last_seq" in an object.
func LastSeq(text []byte) (seq []byte) {
	for f := MembersOf(text); f.Next(); {
		if f.Is("last_seq") {
			seq = f.Value
		}
	}
	return seq
}

// isEnd reports whether an object is the last one of a continuous feed.
func isEnd(text []byte) bool { return LastSeq(text) != nil }
