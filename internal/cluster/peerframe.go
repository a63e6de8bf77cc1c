package cluster

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// peerFormat is the first byte of frames about answers of peers. It differs from the version
// with which frames of the protocol begin.
const peerFormat = 0x81

// The kinds of peer frames. After the format, the kind, and the sender's instance in eight
// bytes, they have varints and bytes.
const (
	peerAsk     = iota + 1 // number, epoch, length of the service's name, name, request
	peerAnswer             // number, kind of entry, 1 for a hit, time to live, payload
	peerDecline            // number
	peerAlive              // the numbers of all requests of the receiver that are being answered
)

// Limits of peer frames, which hold up the frames of the protocol while they are sent.
const (
	maxPeerRequest = cache.MaxPeerRequest
	maxPeerAnswer  = cache.MaxShared
)

var errPeerFrame = errors.New("malformed frame about an answer of a peer")

// peerFrame is a frame about answers of peers. Only the fields of its kind are set.
type peerFrame struct {
	kind    byte
	from    protocol.Instance
	number  uint64
	epoch   uint64
	service string
	request []byte
	shared  cache.Shared
	alive   []uint64
}

// isPeerFrame reports whether a frame is to be parsed by parsePeerFrame.
func isPeerFrame(frame []byte) bool { return len(frame) > 0 && frame[0] == peerFormat }

// appendPeerFrame appends the encoding of f.
func appendPeerFrame(dst []byte, f *peerFrame) []byte {
	dst = append(dst, peerFormat, f.kind)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.from))
	if f.kind == peerAlive {
		for _, number := range f.alive {
			dst = binary.AppendUvarint(dst, number)
		}
		return dst
	}
	dst = binary.AppendUvarint(dst, f.number)
	switch f.kind {
	case peerAsk:
		dst = binary.AppendUvarint(dst, f.epoch)
		dst = binary.AppendUvarint(dst, uint64(len(f.service)))
		dst = append(dst, f.service...)
		dst = append(dst, f.request...)
	case peerAnswer:
		hit := byte(0)
		if f.shared.Hit {
			hit = 1
		}
		dst = append(dst, f.shared.Kind, hit)
		dst = binary.AppendUvarint(dst, uint64(max(0, f.shared.TTL)))
		dst = append(dst, f.shared.Payload...)
	}
	return dst
}

// parsePeerFrame parses a frame. The result refers to its bytes.
func parsePeerFrame(b []byte) (f peerFrame, err error) {
	const head = 2 + 8
	if len(b) < head || !isPeerFrame(b) {
		return f, errPeerFrame
	}
	f.kind, f.from = b[1], protocol.Instance(binary.BigEndian.Uint64(b[2:]))
	b = b[head:]
	valid := true
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			valid = false
			return 0
		}
		b = b[n:]
		return v
	}
	if f.kind == peerAlive {
		for len(b) > 0 && valid {
			f.alive = append(f.alive, number())
		}
		if !valid {
			return f, errPeerFrame
		}
		return f, nil
	}
	f.number = number()
	switch f.kind {
	case peerAsk:
		f.epoch = number()
		n := number()
		if !valid || n > uint64(len(b)) {
			return f, errPeerFrame
		}
		f.service, f.request = string(b[:n]), b[n:]
	case peerAnswer:
		if len(b) < 2 {
			return f, errPeerFrame
		}
		f.shared.Kind, f.shared.Hit = b[0], b[1] != 0
		b = b[2:]
		f.shared.TTL = time.Duration(number())
		f.shared.Payload = b
	case peerDecline:
	default:
		return f, errPeerFrame
	}
	if !valid || f.shared.TTL < 0 {
		return f, errPeerFrame
	}
	return f, nil
}
