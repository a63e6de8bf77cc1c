// Package history drives one Kasoku with many clients, records what each was
// told and when, and proves or refutes that the record can be explained.
//
// Every item is a register: one number, 0 for "no item". Each write stores a
// number that no other write stores, so a read tells which write it saw. Reads
// and writes of single keys, also as members of batches and transactions, must
// be linearizable; porcupine decides that. A query must show each item at least
// as new as the last write that was acknowledged before the query began.
//
// A write whose answer did not arrive is taken as possibly executed at any time
// after it was sent.
package history

import "math"

// Kind is what an operation did to one key.
type Kind uint8

const (
	Read  Kind = iota
	Write      // unconditional put, update or delete
	Swap       // Write that also told the value before
	CAS        // put, update or delete if the value is Expect
	Check      // a transaction's ConditionCheck that the value is Expect
)

// never is the Return of an operation whose answer did not arrive.
const never = math.MaxInt64

// Op is one operation on one key, as its client saw it. Times are nanoseconds
// since the run began.
type Op struct {
	Client       int32
	Key          int32
	Kind         Kind
	Refused      bool  // CAS: the condition was false, and Got is what was there
	Arg          int64 // the number written; 0 deletes
	Expect       int64
	Got          int64 // what Read, Swap and refused CAS were told
	Call, Return int64
}

// writes tells whether o changed or may have changed its key.
func (o *Op) writes() bool { return (o.Kind == Write || o.Kind == Swap || o.Kind == CAS) && !o.Refused }

// observes returns the number that o proves to have been stored.
func (o *Op) observes() (int64, bool) {
	switch {
	case o.Return == never:
		return 0, false
	case o.Kind == Read || o.Kind == Swap || o.Refused:
		return o.Got, true
	case o.Kind == CAS || o.Kind == Check:
		return o.Expect, true
	}
	return 0, false
}

// Query is a query of one partition, or of one partition of the index.
type Query struct {
	Client       int32
	Partition    int32
	Group        int8 // the index partition's group; -1 for the table
	Consistent   bool
	Values       [width]int64 // by position in the partition; 0: not in the answer
	Call, Return int64
}

// width is how many keys a partition has, groups how many index partitions its
// items are spread over.
const (
	width  = 8
	groups = 2
)

// groupOf is the index group of the item holding number v. It follows from v,
// so that every write may move the item within the index.
func groupOf(v int64) int8 { return int8(v % groups) }
