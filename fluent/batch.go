package fluent

import (
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// batch holds records of one tag. Its bytes do not change after a sender has taken it.
//
// A batch has one owner: the queue until next returns it, then the sender, which reads it
// without a lock until it calls done or back. The sender must not use it afterwards: its
// memory is reused for another batch.
type batch struct {
	tag     string // including the prefix
	entries []byte // concatenated msgpack arrays of time and record
	records int
	extra   int64 // bytes reserved beyond entries

	// id is the chunk id: base64 of 16 random bytes. It is set when a sender first takes the
	// batch and is kept through retries and on disk, so that a receiver can recognise a
	// repetition.
	id string

	seq             uint64 // position in the order of sealing, increasing; 0 for a batch from disk
	order           uint64 // position in the order of first being taken, increasing; 0 before
	spooled         bool   // it is also on disk, under spoolID
	tooLargeForDisk bool   // the disk has no room for a batch of this size
	spoolID         uint64
}

// newChunkID returns a unique id of 24 characters. It need not be secret.
func newChunkID() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], rand.Uint64())
	return base64.StdEncoding.EncodeToString(raw[:])
}
