package api

import (
	"fmt"
)

// Change is one change of a database. Its slices are valid until the next row is
// parsed into the same Row.
type Change struct {
	ID      []byte // "_design/x" for a design document
	Rev     []byte // the winning revision
	Deleted bool   // the winning revision is a deletion
	Seq     []byte // the position behind this row, as JSON; nil or "null" if none is told

	scratch [2][]byte // where escaped text is written out
}

// Parse fills the row from a change's JSON. The JSON must be valid.
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

// firstRev returns the revision in [{"rev":"1-a"}, ...]: the winner stands first.
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

// isEnd tells whether an object is the last of a continuous feed.
func isEnd(text []byte) bool { return LastSeq(text) != nil }
