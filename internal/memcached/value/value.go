package value

// Coding is the encoding of a value's bytes.
type Coding uint8

const (
	Identity Coding = iota // not encoded
	Gzip                   // RFC 1952, gzip in Content-Encoding
	Zlib                   // RFC 1950
	Zstd                   // RFC 8878
	FastLZ                 // FastLZ, levels 1 and 2, of php-memcached
	Decimal                // a number in another format, to be converted to JSON
)

// String returns the coding's name in lower case.
func (c Coding) String() string {
	return [...]string{"identity", "gzip", "zlib", "zstd", "fastlz", "decimal"}[c]
}

// Value is a value that can be sent, as returned by Inspect. To decode other data, make one
// with Body, Coding and a Length of -1.
type Value struct {
	// Body is a slice of the data passed to Inspect, or constant bytes. It must not be
	// written to. Coding defines its meaning for a client.
	Body []byte
	// Coding is Identity if Body can be sent as it is.
	Coding Coding
	// Length is the number of bytes after decoding, as stored by the writer; -1 if unknown.
	Length int64

	number int64 // of a Decimal that is binary
	bare   bool  // of a Decimal that is text: there is no digit before its point
}

// Reason is the reason why a value cannot be sent.
type Reason uint8

const (
	// OK: it can be sent.
	OK Reason = iota
	// Serialised values can be read only by the writer's language.
	Serialised
	// Corrupt values contradict their flags.
	Corrupt
	// TooLarge values are larger than allowed when decoded.
	TooLarge
	// Unknown flags belong to another writer than the profile's, or to a type without a
	// textual form.
	Unknown
)

// String returns the reason as a word for logs, metrics and Cache-Status.
func (r Reason) String() string {
	return [...]string{"ok", "serialised", "corrupt", "too-large", "unknown-flags"}[r]
}
