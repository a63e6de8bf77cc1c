package disk

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// BlockSize is how many bytes of a body have a checksum together.
	BlockSize = 64 << 10
	// maxBodyLength is the longest body, so that no sum of lengths overflows.
	maxBodyLength = 1 << 50
)

// blocks is how many checksums a body of that length has.
func blocks(length int64) int64 { return (length + BlockSize - 1) / BlockSize }

// trailerSize is what follows a body of that length in its file.
func trailerSize(length int64) int64 { return 4*blocks(length) + 4 }

// encodeSums writes what follows the body.
func encodeSums(n name, length int64, sums []uint32) []byte {
	b := make([]byte, 0, 4*len(sums)+4)
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return binary.LittleEndian.AppendUint32(b, sumOf(n, length, b))
}

// decodeSums reads what encodeSums wrote.
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

// verify holds whole blocks, of which the last may be the body's short one,
// against their sums.
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
