package edge

import "golang.org/x/net/http2"

// frameWalk follows the frames of HTTP/2 in a stream of bytes. It reads only the headers of
// frames and the codes of resets.
type frameWalk struct {
	skip int     // bytes that precede the next frame header: a preface, or a payload
	head [9]byte // of the frame
	have int     // bytes in head
	code [4]byte // the first bytes of a reset's payload
	kind http2.FrameType

	open   bool // a header block has begun and its END_HEADERS flag has not arrived
	resets func(code http2.ErrCode)
}

// feed takes the next bytes.
func (w *frameWalk) feed(p []byte) {
	for len(p) > 0 {
		if w.skip > 0 {
			p = p[w.payload(p):]
			continue
		}
		n := copy(w.head[w.have:], p)
		w.have += n
		p = p[n:]
		if w.have == len(w.head) {
			w.begin()
		}
	}
}

// begin handles a frame whose header is complete.
func (w *frameWalk) begin() {
	w.have = 0
	w.skip = int(w.head[0])<<16 | int(w.head[1])<<8 | int(w.head[2])
	w.kind = http2.FrameType(w.head[3])
	if w.kind == http2.FrameHeaders || w.kind == http2.FrameContinuation {
		const endHeaders = http2.Flags(http2.FlagHeadersEndHeaders) // the same bit for both
		w.open = !http2.Flags(w.head[4]).Has(endHeaders)
	}
	if w.kind == http2.FrameRSTStream && w.skip != len(w.code) {
		w.kind = 0 // the library refuses it
	}
}

// payload skips the part of the payload in p, and returns its length.
func (w *frameWalk) payload(p []byte) int {
	n := min(w.skip, len(p))
	if w.kind == http2.FrameRSTStream {
		copy(w.code[len(w.code)-w.skip:], p[:n])
	}
	w.skip -= n
	if w.skip == 0 && w.kind == http2.FrameRSTStream {
		w.resets(http2.ErrCode(uint32(w.code[0])<<24 | uint32(w.code[1])<<16 | uint32(w.code[2])<<8 | uint32(w.code[3])))
	}
	return n
}

// partial reports whether a frame that is not DATA, or a header block, is incomplete. Data
// is bounded by the pace of its stream.
func (w *frameWalk) partial() bool {
	return w.open || w.have > 0 || w.skip > 0 && w.kind != http2.FrameData
}
