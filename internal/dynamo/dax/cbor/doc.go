// Package cbor reads and writes the part of CBOR (RFC 8949) that the DAX protocol uses, on
// byte slices and without allocating.
//
// A DAX message has no length: a receiver finds its end by parsing its items. There are two
// readers. Scanner finds the end of a message while its bytes arrive, and keeps its state
// between calls. Reader then decodes the complete message; its results alias the message.
//
// Supported are integers of any width, byte and text strings of definite length, arrays and
// maps of definite or indefinite length, tags, false, true, null and doubles. Other CBOR
// (strings of indefinite length, floats of two and four bytes, undefined, other simple
// values) is rejected: no DAX client sends it. Memory is never allocated for a declared
// length, and items nest at most MaxDepth deep.
package cbor
