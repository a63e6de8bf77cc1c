// Package key converts primary keys between DynamoDB's JSON and the key bytes of the DAX
// protocol.
//
// Key bytes contain no names and no types: these are given by the table's schema. Without a
// sort key, they consist of the partition key: a text or byte string verbatim, a number as
// CBOR. With a sort key, the partition key is first, as CBOR, and the rest is the sort key:
// a text or byte string verbatim, a number as an ordered decimal. Numbers have several
// encodings, so key bytes must not be compared.
package key
