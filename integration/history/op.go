// Package history runs many clients against one Kasoku, records their operations with their
// results and times, and checks whether the record is consistent.
//
// Every item is a register: one number, 0 for "no item". Each write stores a unique number,
// so a read identifies the write it saw. Reads and writes of single keys, also in batches
// and transactions, must be linearizable; porcupine checks that. A query must show each item
// at least as new as the last write acknowledged before the query began.
//
// A write without an answer may have been executed at any time after it was sent.
package history

import "math"

// Kind is the effect of an operation on one key.
type Kind uint8

const (
	Read  Kind = iota
	Write      // unconditional put, update or delete
	Swap       // Write that also returned the previous value
	CAS        // put, update or delete if the value is Expect
	Check      // a transaction's ConditionCheck that the value is Expect
)

// never is the Return of an operation whose answer did not arrive.
const never = math.MaxInt64

// Op is one operation on one key, as observed by its client. Times are nanoseconds since the
// start of the run.
type Op struct {
	Client       int32
	Key          int32
	Kind         Kind
	Refused      bool  // CAS: the condition was false, and Got is the current value
	Arg          int64 // the number written; 0 deletes
	Expect       int64
	Got          int64 // the value returned by Read, Swap and refused CAS
	Call, Return int64
}

// writes reports whether o changed or may have changed its key.
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

// width is the number of keys in a partition, groups the number of index partitions of its
// items.
const (
	width  = 8
	groups = 2
)

// groupOf returns the index group of the item with number v. It is derived from v, so that
// every write may move the item within the index.
func groupOf(v int64) int8 { return int8(v % groups) }
