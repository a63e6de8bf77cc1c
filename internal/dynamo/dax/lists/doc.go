// Package lists numbers lists of attribute names.
//
// In the DAX protocol an item does not carry its attributes' names: it carries the
// number of the list of them, which a client has asked for once and keeps as long as it
// runs. So a number must mean the same list for good, after a restart and on every node
// that a client may be led to.
//
// A list's number is the beginning of a hash of its names. So nodes agree without
// talking to each other, and nothing has to be remembered to number a list; a file
// remembers which names a number stands for, which clients ask as well. It is
// append-only:
//
//	header    "kasoku attribute lists 2\n"
//	record    length of the body in 4 bytes, whose first bit is set, how much of the same
//	          write stands before the record in 4, CRC-32C of the body in 4, and of the
//	          record's place in the file (8 bytes) and these 12 in 4, all big-endian;
//	          then the body: the id of the access key that had the list numbered, and
//	          each name, each with its length as a varint before it
//
// Version 1 of the file had no ids of keys, and the bit was not set. Such a file becomes one
// of version 2 when a list is added; its records stay as they are.
//
// A list is on disk before its number is told to anybody. Of the last write a crash may
// have left anything; it is dropped where it is not whole, as nobody has its numbers. Any
// other damage is an error, because somebody may have.
package lists
