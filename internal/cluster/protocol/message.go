package protocol

// Kind is the kind of a Message.
type Kind uint8

// The kinds of messages.
const (
	// Inv asks the receiver to fence Tags for the sender's write Seq, and to apply Payload.
	// In further rounds of a write, Tags are the further ones of its answer.
	Inv Kind = iota + 1
	// Ack acknowledges an Inv of the same Seq, Epoch and Round.
	Ack
	// Val reports that the sender's write Seq is over.
	Val
	// Unknown reports that the outcome of the sender's write Seq is unknown: the receiver puts
	// its tags and Tags in quarantine, and answers with Done.
	Unknown
	// Done acknowledges Unknown.
	Done
	// Open lists the sender's writes up to Seq that are not over, in Seqs. All others up to
	// Seq are. It is sent regularly, more often by a node that writes, and shows that the
	// sender runs.
	Open
	// Probe asks the receiver to answer with Probed.
	Probe
	// Probed answers a Probe. Serving is set if the sender is a serving member.
	Probed
	// Join asks the receiver to adopt View and to answer with Books.
	Join
	// Books are the open writes and quarantines of the sender, which has adopted Epoch.
	Books
	// Newer has a View that is newer than the receiver's.
	Newer
)

// Message is a message from one node to another one, or to all. Only the fields of its kind
// are set.
type Message struct {
	Kind    Kind
	Epoch   uint64 // the sender's
	Seq     uint64
	Round   uint64 // of the write; the first is 0
	Serving bool
	Tags    []uint64
	Payload []byte
	Unsure  []uint64 // of an Inv: tags that only the answer of the origin shows to be touched or not
	Seqs    []uint64 // ascending
	View    *View
	Books   *Book
}

// Book is the state that a member hands over to a joining one.
type Book struct {
	Writes      []HeldWrite
	Quarantines []Quarantine
	// Cold is the time for which nothing may be stored at all.
	Cold Time
}

// HeldWrite is an open write of a member.
type HeldWrite struct {
	Owner   Instance
	Seq     uint64
	Tags    []uint64
	Payload bool     // it carries a payload
	Unsure  []uint64 // tags that the write may touch too
}

// Quarantine is a set of tags under which nothing may be stored for a time.
type Quarantine struct {
	Tags []uint64
	Left Time
}
