package feed

import (
	"hash/maphash"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// row is one change in the node's own text. It is immutable.
type row struct {
	text string
	seq  string // its position as JSON; a part of text
	hash uint64 // of text
}

var seed = maphash.MakeSeed()

// parseRow parses a row. ok is false if text is not a row, or has no position.
func parseRow(text []byte) (r row, ok bool) {
	r.text = string(text)
	var seq []byte
	id := false
	for f := api.MembersOf(text); f.Next(); {
		switch {
		case f.Is("seq"):
			seq = f.Value
		case f.Is("id"):
			id = true
		}
	}
	if !id || len(seq) == 0 || string(seq) == "null" {
		return r, false
	}
	at := cap(text) - cap(seq)
	r.seq = r.text[at : at+len(seq)]
	r.hash = maphash.String(seed, r.text)
	return r, true
}

// positionText returns a position as in a URL, but unescaped.
func positionText(seq string) string { return unquote(seq) }

// rowOverhead is the size of a row without its text.
const rowOverhead = 64

// ring holds the newest rows of a feed. Rows are numbered from the beginning of the feed;
// end() is the number of the next one.
type ring struct {
	rows  []row
	first uint64 // the number of rows[0]
	base  string // the position before rows[0], as JSON
	bytes int
	limit int
}

func (r *ring) end() uint64 { return r.first + uint64(len(r.rows)) }

// add appends a row and evicts the oldest rows, except for the new one.
func (r *ring) add(n row) {
	r.rows = append(r.rows, n)
	r.bytes += len(n.text) + rowOverhead
	for r.bytes > r.limit && len(r.rows) > 1 {
		old := r.rows[0]
		r.base, r.first = old.seq, r.first+1
		r.bytes -= len(old.text) + rowOverhead
		r.rows[0] = row{}
		r.rows = r.rows[1:]
	}
}

// position returns the position of a client that has all rows before at.
func (r *ring) position(at uint64) string {
	if at > r.first {
		return r.rows[at-r.first-1].seq
	}
	return r.base
}

// find returns the number of the row after a position. If a node has repeated rows, the last
// row with that position counts.
func (r *ring) find(since string) (at uint64, ok bool) {
	for i := len(r.rows) - 1; i >= 0; i-- {
		if positionText(r.rows[i].seq) == since {
			return r.first + uint64(i) + 1, true
		}
	}
	return r.first, r.base != "" && positionText(r.base) == since
}
