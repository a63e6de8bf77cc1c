package embedded

import "sync"

// stream gives the records of a table's stream their numbers.
type stream struct {
	// mu is held from giving a record its number until the record can be read, so
	// that a reader who has seen a number has seen all smaller ones.
	mu sync.Mutex
}

// writeRecords adds a record for each change to a table with a stream whose
// item is not the same as before. The streams' mu are held.
func (e *edit) writeRecords() {}
