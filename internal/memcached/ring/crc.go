package ring

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// crcTables are the tables for the CRC-32 of eight bytes at once: crcTables[n][b] is that of
// byte b with n zeros behind it. They are made when they are used for the first time.
var crcTables = sync.OnceValue(func() *[8][256]uint32 {
	t := new([8][256]uint32)
	t[0] = *crc32.IEEETable
	for b := range 256 {
		for n := 1; n < 8; n++ {
			last := t[n-1][b]
			t[n][b] = t[0][byte(last)] ^ last>>8
		}
	}
	return t
})

// checksum is crc32.ChecksumIEEE, which calls a function variable and would have each text
// allocated on the heap.
func checksum(b []byte) uint32 {
	t := crcTables()
	h := ^uint32(0)
	for ; len(b) >= 8; b = b[8:] {
		lo, hi := h^binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		h = t[7][byte(lo)] ^ t[6][byte(lo>>8)] ^ t[5][byte(lo>>16)] ^ t[4][lo>>24] ^
			t[3][byte(hi)] ^ t[2][byte(hi>>8)] ^ t[1][byte(hi>>16)] ^ t[0][hi>>24]
	}
	for _, c := range b {
		h = t[0][byte(h)^c] ^ h>>8
	}
	return ^h
}
