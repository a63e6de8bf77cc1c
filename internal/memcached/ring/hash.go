package ring

import (
	"crypto/md5"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// hash is a hash function of 32 bits. It is a number and not a func, so that a caller's text
// can be allocated on its stack.
type hash uint8

const (
	crcFull        hash = iota // CRC-32 as in zlib
	crc15                      // bits 16 to 30 of it
	crc15OrOne                 // the same, with 1 for 0
	crcHead                    // CRC-32 of the first 256 bytes
	md5Word                    // the first four bytes of MD5, least significant first
	oneAtATime                 // Jenkins's, initialised with 0
	fnv1x32                    // FNV-1
	fnv1ax32                   // FNV-1a
	fnv1x64                    // the low half of 64-bit FNV-1
	fnv1ax64                   // not 64-bit FNV, see sum
	fnvMiddleOrOne             // bits 16 to 30 of fnv1ax32, with 1 for 0
	javaString                 // String.hashCode
)

// namedHash is a hash with a client's name for it. Clients use the same name for different
// hashes.
type namedHash struct {
	name string
	hash hash
}

// libmemcachedHashes are the values of libmemcached's HASH behaviour, its default first.
var libmemcachedHashes = []namedHash{
	{"one_at_a_time", oneAtATime},
	{"md5", md5Word},
	{"crc", crc15},
	{"fnv1_32", fnv1x32},
	{"fnv1a_32", fnv1ax32},
	{"fnv1_64", fnv1x64},
	{"fnv1a_64", fnv1ax64},
}

// twemproxyHashes are the values of twemproxy's hash setting, its default first. Its crc32
// has 15 bits; crc32a is the usual CRC-32.
var twemproxyHashes = []namedHash{
	{"fnv1a_64", fnv1ax64},
	{"md5", md5Word},
	{"crc32", crc15},
	{"crc32a", crcFull},
	{"one_at_a_time", oneAtATime},
	{"fnv1_32", fnv1x32},
	{"fnv1a_32", fnv1ax32},
	{"fnv1_64", fnv1x64},
}

// peclConsistentHashes and peclStandardHashes are the values of memcache.hash_function for
// each memcache.hash_strategy.
var (
	peclConsistentHashes = []namedHash{{"crc32", crcFull}, {"fnv", fnv1ax32}}
	peclStandardHashes   = []namedHash{{"crc32", crc15OrOne}, {"fnv", fnvMiddleOrOne}}
)

// oneHash returns the list of a distribution that has one hash.
func oneHash(h hash) []namedHash { return []namedHash{{hash: h}} }

// withDefault returns hashes with the named one as default.
func withDefault(name string, hashes []namedHash) []namedHash {
	var front, rest []namedHash
	for _, h := range hashes {
		if h.name == name {
			front = append(front, h)
		} else {
			rest = append(rest, h)
		}
	}
	return append(front, rest...)
}

func (h hash) sum(b []byte) uint32 {
	switch h {
	case crcFull:
		return checksum(b)
	case crc15:
		return middle(checksum(b))
	case crc15OrOne:
		return max(middle(checksum(b)), 1)
	case crcHead:
		return checksum(b[:min(len(b), 256)])
	case md5Word:
		digest := md5.Sum(b)
		return binary.LittleEndian.Uint32(digest[:])
	case oneAtATime:
		return sumOneAtATime(b)
	case fnv1x32:
		return sumFNV1(b)
	case fnv1ax32:
		return sumFNV1a(b, 0x811c9dc5, 0x01000193)
	case fnv1x64:
		return sumFNV1Low(b)
	case fnv1ax64:
		// libmemcached computes this one in 32 bits, with the low halves of the 64-bit
		// constants.
		return sumFNV1a(b, 0x84222325, 0x1b3)
	case fnvMiddleOrOne:
		return max(middle(sumFNV1a(b, 0x811c9dc5, 0x01000193)), 1)
	case javaString:
		return sumJava(b)
	}
	panic("ring: unknown hash")
}

// middle returns the bits of a hash that clients use before taking the remainder.
func middle(h uint32) uint32 { return h >> 16 & 0x7fff }

// signed sign-extends a byte, as C does where char is signed. On x86-64 it is, so
// libmemcached, twemproxy and PECL memcache hash bytes from 0x80 on as negative numbers
// there. The same clients hash such keys differently on platforms with an unsigned char.
func signed(c byte) uint32 { return uint32(int32(int8(c))) }

func sumOneAtATime(b []byte) uint32 {
	var h uint32
	for _, c := range b {
		h += signed(c)
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	return h + h<<15
}

func sumFNV1(b []byte) uint32 {
	h := uint32(0x811c9dc5)
	for _, c := range b {
		h = h*0x01000193 ^ signed(c)
	}
	return h
}

func sumFNV1a(b []byte, h, prime uint32) uint32 {
	for _, c := range b {
		h = (h ^ signed(c)) * prime
	}
	return h
}

func sumFNV1Low(b []byte) uint32 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = h*0x100000001b3 ^ uint64(int64(int8(c)))
	}
	return uint32(h)
}

// sumJava is String.hashCode of b read as UTF-8, without its sign: it is computed over
// UTF-16 units.
func sumJava(b []byte) uint32 {
	var h uint32
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			h = (h*31+uint32(hi))*31 + uint32(lo)
		} else {
			h = h*31 + uint32(r)
		}
	}
	return h
}
