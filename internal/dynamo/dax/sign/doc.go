// Package sign checks how clients of DAX prove who they are: they sign a request to
// nobody, by AWS Signature Version 4, and send the text that they have signed with it.
//
// The text has four lines: the algorithm, the time, the scope, and the hash of a request
// that is always the same but for the time and one of two ways to write the host. Nothing
// in it belongs to the connection, so that who has seen a signature can use it for as
// long as its time is near: without TLS, that is anybody on the way.
package sign
