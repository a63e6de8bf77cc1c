// Package sigv4 checks the signatures of DynamoDB clients and signs requests for
// the origin, both by AWS Signature Version 4.
//
// Verifying follows DynamoDB in the order of its checks and in its words, so that
// a client sees from Kasoku the error it would see from AWS. In two places it is
// stricter, because the body and the operation decide what a cache may answer:
// every x-amz-* header must be signed, and the body must be.
//
// A right signature costs no allocation: the canonical request is written into a
// pooled buffer and the derived keys of the days in use are kept.
package sigv4

// Key is an access key that clients may sign with.
type Key struct{ ID, Secret string }

// Error is the refusal of a request, answered with status 400. The namespace of
// its type is com.amazon.coral.service.
type Error struct{ Type, Message string }

// Error joins type and message.
func (e *Error) Error() string { return e.Type + ": " + e.Message }

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	// stamp is the layout of every date here: ISO 8601 in its basic format.
	stamp = "20060102T150405Z"
)
