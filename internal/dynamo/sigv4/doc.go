// Package sigv4 verifies the signatures of DynamoDB clients and signs requests for the
// origin, both with AWS Signature Version 4.
//
// Verification makes DynamoDB's checks in DynamoDB's order and with its messages, so that a
// client gets the same error from Kasoku as from AWS. It is stricter in two points, because
// a cached answer depends on the body and the operation: every x-amz-* header must be
// signed, and so must the body.
//
// Verifying a valid signature doesn't allocate: the canonical request is written to a pooled
// buffer, and the derived keys of the current days are cached.
package sigv4

// Key is an access key that clients may sign with.
type Key struct{ ID, Secret string }

// Error is the error for a rejected request, returned with status 400. The namespace of its
// type is com.amazon.coral.service.
type Error struct{ Type, Message string }

// Error returns the type and the message.
func (e *Error) Error() string { return e.Type + ": " + e.Message }

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	// dateLayout is the layout of every date: ISO 8601 basic format.
	dateLayout = "20060102T150405Z"
)
