// Package disk keeps ordered bytes on disk: keys and values, written in atomic
// batches, read at any moment as they were. It is pebble behind the few
// operations that the store needs, with what pebble leaves to its user: a lock
// that says who is in the way, a format version, bounds on memory, counters, and
// a disk that may be full without harm.
//
// Writing goes in two steps. Apply makes a batch visible and gives it its place
// in the log; Wait returns once it is on disk. Between the two the caller may let
// go of its locks: whoever comes next stands behind it in the log, so that no
// write can survive a crash without those it has seen.
package disk
