package fluent

import (
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// batch holds records of one tag, sealed: from when the collector hands it to
// the queue its bytes change no more once a sender has seen it.
//
// A batch has one owner. The queue owns it until next returns it; then the
// sender does, and reads it without a lock, until it calls done or back. After
// that the sender may not touch it: its bytes are used for another batch.
type batch struct {
	tag     string // with the prefix
	entries []byte // records, one after the other: msgpack arrays of time and record
	records int
	extra   int64 // what it has reserved beyond entries

	// id is the chunk id: base64 of 16 random bytes. It is given when a sender
	// first takes the batch and stays through retries and the disk, so that a
	// receiver can tell a repetition.
	id string

	seq     uint64 // when it was sealed; rises. Of a batch from disk: 0
	order   uint64 // when a sender first took it; rises, 0 before
	spooled bool   // it is on disk as well, under spoolID
	stays   bool   // the disk has no room for one as large
	spoolID uint64
}

// newChunkID makes the id of a batch: 24 characters. It need be unique, not
// secret.
func newChunkID() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], rand.Uint64())
	return base64.StdEncoding.EncodeToString(raw[:])
}
