// Package disk stores ordered keys and values on disk. Batches are written atomically, and
// snapshots are consistent. It wraps pebble with the few operations that the store needs,
// and adds the parts that pebble leaves to its user: a lock that names the process holding
// it, a format version, bounds on memory, counters, and safe behaviour on a full disk.
//
// A write has two steps. Apply makes a batch visible and appends it to the log; Wait returns
// once it is on disk. Between the two the caller may release its locks: a later batch is
// behind it in the log, so a crash can't lose a write and keep a later one that depends on
// it.
package disk
