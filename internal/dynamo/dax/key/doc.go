// Package key translates primary keys between DynamoDB's JSON and the bytes that the
// DAX protocol has for them.
//
// Key bytes hold no names and no types: what they mean is told by the table's schema.
// A table without a sort key has the partition key's bytes alone: a text or a byte
// string as it is, a number as CBOR. With a sort key the partition key comes first, as
// CBOR, and the sort key is all that follows: a text or a byte string as it is, a number
// as an ordered decimal. Numbers have several forms, so that bytes of keys must not be
// compared.
package key
