// Package sign verifies the authentication of DAX clients. A client signs an artificial
// request with AWS Signature Version 4, and sends the signed text with the signature.
//
// The text has four lines: the algorithm, the time, the scope, and the hash of a request
// that is always the same except for the time and one of two spellings of the host. It
// contains nothing of the connection: without TLS, an eavesdropper can reuse a signature
// while its time is valid.
package sign
