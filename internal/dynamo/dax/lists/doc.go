// Package lists numbers lists of attribute names.
//
// In the DAX protocol an item doesn't contain its attribute names. It contains the number of
// the list of names, which a client requests once and keeps for as long as it runs. A number
// must therefore identify the same list permanently, after a restart and on every node that
// a client may use.
//
// A list's number is a prefix of a hash of its names. Nodes thus agree without
// communication, and numbering needs no state. A file stores the names of each number, which
// clients also request. It is append-only:
//
//	header    "kasoku attribute lists 2\n"
//	record    length of the body in 4 bytes, whose first bit is set; offset of the record
//	          within its write in 4; CRC-32C of the body in 4; CRC-32C of the record's
//	          place in the file (8 bytes) and these 12 bytes in 4; all big-endian. Then
//	          the body: the ID of the access key that added the list, and each name, each
//	          preceded by its length as a varint
//
// Version 1 of the file had no key IDs, and the bit was not set. Such a file is converted to
// version 2 when a list is added; its records are not changed.
//
// A list is on disk before its number is returned. A crash may leave any part of the last
// write; if it is incomplete, it is dropped, because its numbers were not returned. Any
// other damage is an error, because clients may have the numbers.
package lists
