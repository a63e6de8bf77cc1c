package cbor

import "encoding/binary"

// head is the beginning of an item: its kind and its argument, which is a value, a length or
// a tag.
type head struct {
	kind Kind
	arg  uint64
	open bool // an array or map of indefinite length
	size int  // in bytes
}

// readHead decodes the head at the beginning of b. Its size is 0 if b is too short.
func readHead(b []byte) head {
	if len(b) == 0 {
		return head{kind: End}
	}
	h := head{kind: kindOf(b[0]), size: 1}
	info := b[0] & 31
	switch {
	case h.kind == Invalid || info < 24:
		h.arg = uint64(info)
		return h
	case info == byteOpen:
		h.open = h.kind == Array || h.kind == Map
		return h
	case h.kind == False, h.kind == True, h.kind == Null:
		return h
	}
	width := 1 << (info - 24)
	if len(b) < 1+width {
		h.size = 0
		return h
	}
	h.size += width
	switch width {
	case 1:
		h.arg = uint64(b[1])
	case 2:
		h.arg = uint64(binary.BigEndian.Uint16(b[1:]))
	case 4:
		h.arg = uint64(binary.BigEndian.Uint32(b[1:]))
	default:
		h.arg = binary.BigEndian.Uint64(b[1:])
	}
	return h
}
