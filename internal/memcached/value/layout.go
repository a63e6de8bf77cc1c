package value

// kind is what a writer says that a value is, apart from compression.
type kind uint8

const (
	str        kind = iota // text or bytes
	json                   // JSON text
	number                 // digits
	boolean                // "1", and "0" or nothing
	int8s                  // two's complement, most significant byte first, zero bytes
	int32s                 // left out at the front
	int64s                 //
	serialised             // for the writer's language only
)

// layout says what the bits of flags mean to a writer.
type layout struct {
	ignored    uint32 // the application's own, or of no consequence to the bytes
	compressed uint32
	kinds      []meaning // of the bits that remain
}

type meaning struct {
	bits uint32
	kind kind
}

// layouts are the profiles'. What a profile has no meaning for was written by
// somebody else, and guessing would send wrong bytes.
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

	// The lowest four bits are a number and not bits. 4 is PHP's own serialize(), 5
	// igbinary, 7 msgpack. Which compression it is, is read by unwrap.
	PHP: {ignored: 0xffff<<16 | phpZlib | phpFastLZ | phpZstd, compressed: phpCompressed, kinds: []meaning{
		{0, str}, {1, number}, {2, number}, {3, boolean}, {4, serialised}, {5, serialised}, {6, json}, {7, serialised},
	}},

	// 16 marks text in UTF-8, as against bytes. pylibmc writes 2 for booleans, and
	// reads it as the number that is stored.
	Pylibmc: {ignored: 16, compressed: 8, kinds: []meaning{{0, str}, {1, serialised}, {2, number}, {4, number}}},
	Python:  {ignored: 16, compressed: 8, kinds: []meaning{{0, str}, {1, serialised}, {2, number}, {4, number}}},

	Dalli: {compressed: 2, kinds: []meaning{{0, str}, {1, serialised}}},

	// 4 is a date, 6 and 7 are floating point numbers in binary, 8 is an array of bytes.
	Spymemcached: {compressed: 2, kinds: []meaning{
		{0, str}, {1, serialised}, {1 << 8, boolean}, {2 << 8, int32s}, {3 << 8, int64s}, {4 << 8, serialised},
		{5 << 8, int8s}, {6 << 8, serialised}, {7 << 8, serialised}, {8 << 8, str},
	}},
}

// The bits of php-memcached for compression.
const (
	phpCompressed = 0x10
	phpZlib       = 0x20
	phpFastLZ     = 0x40
	phpZstd       = 0x80
)

// read splits flags into what kind of value they mark and whether it is compressed;
// ok is false for flags that the writer does not make.
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
