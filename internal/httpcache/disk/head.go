package disk

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
)

// head is the content of a head file.
type head struct {
	name   name
	length int64 // of the body
	made   int64 // Unix nanoseconds of the first commit of the body
	stale  bool
	key    []byte
	meta   []byte
}

// name is the random name of a body.
type name uint64

func (n name) String() string {
	text := strconv.FormatUint(uint64(n), 16)
	return strings.Repeat("0", 16-len(text)) + text
}

// The suffixes of a body's files.
const (
	bodyEnding = ".body"
	headEnding = ".head"
	tempEnding = ".tmp"
)

// parseName parses a file's name; ok is false if it is not one of this package.
func parseName(file string) (n name, ending string, ok bool) {
	if len(file) < 16 {
		return 0, "", false
	}
	ending = file[16:]
	v, err := strconv.ParseUint(file[:16], 16, 64)
	n = name(v)
	if err != nil || n.String() != file[:16] || ending != bodyEnding && ending != headEnding && ending != tempEnding {
		return 0, "", false
	}
	return n, ending, true
}

const (
	headMagic   = "kasokuhd"
	headVersion = 1
	headFixed   = 48 // bytes before key
	flagStale   = 1

	// maxHead is the maximum size of a head file.
	maxHead = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the content of the head file.
func (h *head) encode() []byte {
	size := headFixed + len(h.key) + len(h.meta) + 4
	b := make([]byte, 0, size)
	b = append(b, headMagic...)
	b = binary.LittleEndian.AppendUint32(b, headVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.name))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.length))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.made))
	flags := uint32(0)
	if h.stale {
		flags = flagStale
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h.key)))
	b = append(append(b, h.key...), h.meta...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeHead parses a head file. key and meta are slices of b.
func decodeHead(b []byte) (head, error) {
	end := len(b) - 4
	if end < headFixed || string(b[:8]) != headMagic || binary.LittleEndian.Uint32(b[8:]) != headVersion ||
		uint64(binary.LittleEndian.Uint32(b[12:])) != uint64(len(b)) ||
		binary.LittleEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return head{}, errHead
	}
	flags, keyLen := binary.LittleEndian.Uint32(b[40:]), uint64(binary.LittleEndian.Uint32(b[44:]))
	h := head{
		name:   name(binary.LittleEndian.Uint64(b[16:])),
		length: int64(binary.LittleEndian.Uint64(b[24:])),
		made:   int64(binary.LittleEndian.Uint64(b[32:])),
		stale:  flags == flagStale,
	}
	if h.length <= 0 || h.length > maxBodyLength || flags > flagStale || keyLen > uint64(end-headFixed) {
		return head{}, errHead
	}
	h.key, h.meta = b[headFixed:headFixed+keyLen], b[headFixed+keyLen:end]
	return h, nil
}
