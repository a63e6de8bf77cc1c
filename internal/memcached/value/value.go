package value

// Coding is how a value's bytes are packed.
type Coding uint8

const (
	Identity Coding = iota // as they are
	Gzip                   // RFC 1952; what Content-Encoding calls gzip
	Zlib                   // RFC 1950
	Zstd                   // RFC 8878
	FastLZ                 // FastLZ, levels 1 and 2, of php-memcached
	Decimal                // a number in a form of its own, which is to become JSON's
)

// String returns the coding's name in lower case.
func (c Coding) String() string {
	return [...]string{"identity", "gzip", "zlib", "zstd", "fastlz", "decimal"}[c]
}

// Value is a value that can be sent, as Look has found it. Made by others of a Body, its
// Coding and a Length of -1, it is for decoding what came from elsewhere.
type Value struct {
	// Body is a view into the data given to Look, or constant bytes; never to be
	// written to. What it is to a client depends on Coding.
	Body []byte
	// Coding is Identity if Body can be sent as it is.
	Coding Coding
	// Length is the number of bytes after decoding, as the writer states it; -1 if
	// only decoding tells.
	Length int64

	number int64 // of a Decimal that is binary
	bare   bool  // of a Decimal that is text: there is no digit before its point
}

// Reason is why a value cannot be sent.
type Reason uint8

const (
	// OK means that it can.
	OK Reason = iota
	// Serialised values are in a form that only the writer's language reads.
	Serialised
	// Corrupt values are not what their flags say.
	Corrupt
	// TooLarge values would be more, decoded, than is allowed.
	TooLarge
	// Unknown flags belong to another writer than the profile's, or to a type
	// that has no form as text.
	Unknown
)

// String returns the reason as a word for logs, metrics and Cache-Status.
func (r Reason) String() string {
	return [...]string{"ok", "serialised", "corrupt", "too-large", "unknown-flags"}[r]
}
