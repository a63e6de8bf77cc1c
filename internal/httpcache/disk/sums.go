package disk

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// BlockSize is the number of bytes per checksum.
	BlockSize = 64 << 10
	// maxBodyLength is the maximum length of a body, so that sums of lengths don't overflow.
	maxBodyLength = 1 << 50
)

// blocks returns the number of checksums of a body of that length.
func blocks(length int64) int64 { return (length + BlockSize - 1) / BlockSize }

// trailerSize returns the size of the data after a body of that length.
func trailerSize(length int64) int64 { return 4*blocks(length) + 4 }

// encodeSums returns the data after the body.
func encodeSums(n name, length int64, sums []uint32) []byte {
	b := make([]byte, 0, 4*len(sums)+4)
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return binary.LittleEndian.AppendUint32(b, sumOf(n, length, b))
}

// decodeSums parses the result of encodeSums.
func decodeSums(n name, length int64, b []byte) ([]uint32, error) {
	if int64(len(b)) != trailerSize(length) {
		return nil, ErrDamaged
	}
	end := len(b) - 4
	if binary.LittleEndian.Uint32(b[end:]) != sumOf(n, length, b[:end]) {
		return nil, ErrDamaged
	}
	sums := make([]uint32, end/4)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return sums, nil
}

func sumOf(n name, length int64, sums []byte) uint32 {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:], uint64(n))
	binary.LittleEndian.PutUint64(id[8:], uint64(length))
	return crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, sums)
}

// verify compares whole blocks with their checksums. The last block may be the body's short
// one.
func verify(b []byte, sums []uint32) error {
	for _, want := range sums {
		block := b[:min(BlockSize, len(b))]
		if crc32.Checksum(block, castagnoli) != want {
			return ErrDamaged
		}
		b = b[len(block):]
	}
	return nil
}
