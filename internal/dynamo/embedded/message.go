package embedded

// Request is a request of DynamoDB's JSON protocol. Its fields are the parts of an HTTP request
// that the store uses.
type Request struct {
	Method, Path string
	Target       []byte // X-Amz-Target
	ContentType  []byte
	Host         []byte
	// Body must not change until Do has returned.
	Body []byte
	// Own is set for a request that Kasoku sends for itself: faults don't apply to it.
	Own bool
	// Buf is memory of length 0 that the store may use for the answer's body; nil for none.
	Buf []byte
}

// Answer is the answer to a request.
type Answer struct {
	Status      int
	ContentType []byte // nil for none
	// Checksum is the CRC-32 of the body, for X-Amz-Crc32. HasChecksum is false for answers that
	// are not of the protocol.
	Checksum    uint32
	HasChecksum bool
	// Reset asks the caller to close the client's connection without an answer. Nothing else is
	// set then, except Uncertain.
	Reset bool
	// Uncertain is set if the request may have been executed, though the answer is an error.
	Uncertain bool
	// Body belongs to the caller, unless it was built in Request.Buf.
	Body []byte
}
