package value

// kind is the type of a value before compression.
type kind uint8

const (
	str        kind = iota // text or bytes
	json                   // JSON text
	number                 // digits
	boolean                // "1", and "0" or nothing
	int8s                  // two's complement, most significant byte first, without
	int32s                 // the zero bytes at the front
	int64s                 //
	serialised             // for the writer's language only
)

// layout is the meaning of the bits of flags for a writer.
type layout struct {
	ignored    uint32 // bits of the application, or without effect on the bytes
	compressed uint32
	kinds      []meaning // of the remaining bits
}

type meaning struct {
	bits uint32
	kind kind
}

// layouts are the layouts by profile. Flags without a meaning in a profile were set by another
// writer; guessing would send wrong bytes.
var layouts = [...]layout{
	Raw:   {ignored: ^uint32(0), kinds: []meaning{{0, str}}},
	Bytes: {ignored: ^uint32(0), kinds: []meaning{{0, str}}},

	// 4 marks text in UTF-8, with the option utf8.
	CMF:  {ignored: 4, compressed: 2, kinds: []meaning{{0, str}, {1, serialised}}},
	Perl: {compressed: 2, kinds: []meaning{{0, str}, {1, serialised}}},

	// The upper half belongs to the application.
	PECL: {ignored: 0xffff << 16, compressed: 2, kinds: []meaning{
		{0, str}, {1, serialised}, {0x100, boolean}, {0x300, number}, {0x700, number},
	}},

	// The lowest four bits are a number, not bits. 4 is PHP's own serialize(), 5 igbinary, 7
	// msgpack. unwrap reads the kind of compression.
	PHP: {ignored: 0xffff<<16 | phpZlib | phpFastLZ | phpZstd, compressed: phpCompressed, kinds: []meaning{
		{0, str}, {1, number}, {2, number}, {3, boolean}, {4, serialised}, {5, serialised}, {6, json}, {7, serialised},
	}},

	// 16 distinguishes text in UTF-8 from bytes. pylibmc writes 2 for booleans, and reads it
	// as the number that is stored.
	Pylibmc: {ignored: 16, compressed: 8, kinds: []meaning{{0, str}, {1, serialised}, {2, number}, {4, number}}},
	Python:  {ignored: 16, compressed: 8, kinds: []meaning{{0, str}, {1, serialised}, {2, number}, {4, number}}},

	Dalli: {compressed: 2, kinds: []meaning{{0, str}, {1, serialised}}},

	// 4 is a date, 6 and 7 are floating point numbers in binary, 8 is an array of bytes.
	Spymemcached: {compressed: 2, kinds: []meaning{
		{0, str}, {1, serialised}, {1 << 8, boolean}, {2 << 8, int32s}, {3 << 8, int64s}, {4 << 8, serialised},
		{5 << 8, int8s}, {6 << 8, serialised}, {7 << 8, serialised}, {8 << 8, str},
	}},
}

// php-memcached's bits for compression.
const (
	phpCompressed = 0x10
	phpZlib       = 0x20
	phpFastLZ     = 0x40
	phpZstd       = 0x80
)

// read splits flags into the value's kind and whether it is compressed. ok is false for
// flags that the writer does not use.
func (l *layout) read(flags uint32) (k kind, compressed, ok bool) {
	compressed = flags&l.compressed != 0
	rest := flags &^ (l.ignored | l.compressed)
	for _, m := range l.kinds {
		if m.bits == rest {
			return m.kind, compressed, true
		}
	}
	return 0, compressed, false
}
