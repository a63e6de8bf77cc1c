package kv

import "io"

// Value is borrowed memory: Bytes is valid until Close.
type Value struct {
	Bytes []byte
	owner io.Closer // nil for none
}

// Borrowed returns a value whose memory belongs to owner, which may be nil.
func Borrowed(bytes []byte, owner io.Closer) Value { return Value{bytes, owner} }

// Close releases the memory.
func (v Value) Close() {
	if v.owner != nil {
		_ = v.owner.Close()
	}
}
