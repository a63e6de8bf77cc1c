// Package cbor reads and writes the part of CBOR (RFC 8949) that the DAX protocol
// uses, on byte slices and without allocating.
//
// A DAX message has no length: whoever reads it finds its end by reading its items.
// So there are two readers. Scanner finds the end of a message in bytes that are
// still coming, and forgets nothing between two calls. Reader then takes the whole
// message apart; what it returns aliases the message.
//
// What is read: integers of any width, byte and text strings of known length, arrays
// and maps of known or open length, tags, false, true, null and doubles. What else
// CBOR has (strings in pieces, floats of two and four bytes, undefined, other simple
// values) no DAX client sends; it is refused. A length is never believed before its
// bytes are there, and items are at most MaxDepth deep.
package cbor
