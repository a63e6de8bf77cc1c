// Package memory keeps keys and values in memory, for a store that leaves nothing on disk.
//
// All keys are in one ordered tree that is never changed: a batch makes another one, and both
// share all other nodes. So a reader has a snapshot at no cost and waits for no
// writer, and a copy of the whole is a copy of a pointer.
package memory
