package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types and flags of HTTP/2's frames.
const (
	h2Data     = 0
	h2Headers  = 1
	h2Reset    = 3
	h2Settings = 4
	h2GoAway   = 7
	h2Window   = 8

	h2EndStream  = 1
	h2EndHeaders = 4
)

// firstH2Stream is the stream of the request in H2Greeting.
const firstH2Stream = 1

func appendH2Frame(dst []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	dst = binary.BigEndian.AppendUint32(dst, stream)
	return append(dst, payload...)
}

// h2Fields are the fields of every request. Clients send them once: later requests refer to
// them by their number in the table of fields.
var h2Fields = [][2]string{
	{":authority", "bench.example"}, {"user-agent", "Mozilla/5.0"}, {"accept", "*/*"},
	{"accept-encoding", "gzip, deflate, br"}, {"accept-language", "en"},
}

// H2Greeting returns the bytes that begin a connection: the settings of a client that does not
// limit what it is sent, and a first request, which has the usual fields.
func H2Greeting() []byte {
	const large = 1 << 30
	b := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	b = appendH2Frame(b, h2Settings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, large)) // the windows of streams
	b = AppendH2Window(b, large-65535)
	block := appendH2Path([]byte{0x82, 0x87}, SmallObject, 0)
	for _, f := range h2Fields {
		block = append(block, 0x40) // a new field, which is added to the table
		for _, text := range f {
			block = append(append(block, byte(len(text))), text...)
		}
	}
	return appendH2Frame(b, h2Headers, h2EndStream|h2EndHeaders, firstH2Stream, block)
}

// AppendH2Window allows the server to send n more bytes on the connection.
func AppendH2Window(dst []byte, n uint32) []byte {
	return appendH2Frame(dst, h2Window, 0, 0, binary.BigEndian.AppendUint32(nil, n))
}

// appendH2Path appends the field :path for an object.
func appendH2Path(dst []byte, size, k int) []byte {
	dst = append(dst, 0x04, 0) // a field of the static table, with another value
	begin := len(dst)
	dst = fmt.Appendf(dst, "%s%d/%d", objectPath, size, k)
	dst[begin-1] = byte(len(dst) - begin)
	return dst
}

// H2Block returns the header block of a request for object k, on a connection that began with
// H2Greeting: GET and https are numbers 2 and 7 of the static table, and the greeting's fields
// follow its 61 entries, the last one first.
func H2Block(size, k int) []byte {
	block := appendH2Path([]byte{0x82, 0x87}, size, k)
	for i := range h2Fields {
		block = append(block, 0x80|byte(61+len(h2Fields)-i))
	}
	return block
}

// AppendH2Request appends a request with a block of H2Block.
func AppendH2Request(dst []byte, stream uint32, block []byte) []byte {
	return appendH2Frame(dst, h2Headers, h2EndStream|h2EndHeaders, stream, block)
}

// H2Answers returns a load.Config.Frame for a connection whose requests are sent in groups of
// so many, each on a stream of its own: the answer to a group ends when all streams have ended.
func H2Answers(streams int) func(answer []byte) (length int, whole bool, err error) {
	return func(b []byte) (length int, whole bool, err error) {
		ended := 0
		err = eachH2Frame(b, func(kind, flags byte, stream uint32, payload []byte) error {
			switch kind {
			case h2Reset, h2GoAway:
				return fmt.Errorf("frame %d on stream %d: %x", kind, stream, payload)
			case h2Data, h2Headers:
				if flags&h2EndStream != 0 && stream != firstH2Stream {
					ended++
				}
			}
			length += 9 + len(payload)
			return nil
		})
		return length, ended >= streams, err
	}
}

// CheckH2Answers checks an answer of H2Answers: each stream has status 200 and a body of that
// size.
func CheckH2Answers(answer []byte, streams, size int) error {
	answered, bytes := 0, 0
	err := eachH2Frame(answer, func(kind, _ byte, stream uint32, payload []byte) error {
		switch {
		case stream == firstH2Stream:
		case kind == h2Headers:
			if payload[0]&0xe0 == 0x20 {
				payload = payload[1:] // nginx sets the size of its table
			}
			if payload[0] != 0x88 {
				return fmt.Errorf("no status 200: %x", payload)
			}
			answered++
		case kind == h2Data:
			bytes += len(payload)
		}
		return nil
	})
	if err == nil && (answered != streams || bytes != streams*size) {
		err = fmt.Errorf("%d answers with %d bytes instead of %d with %d", answered, bytes, streams, streams*size)
	}
	return err
}

var errH2Frame = errors.New("a frame is larger than 16 KiB")

// eachH2Frame calls f for each complete frame.
func eachH2Frame(b []byte, f func(kind, flags byte, stream uint32, payload []byte) error) error {
	for len(b) >= 9 {
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if n > 16<<10 {
			return errH2Frame
		}
		if len(b) < 9+n {
			return nil
		}
		if err := f(b[3], b[4], binary.BigEndian.Uint32(b[5:]), b[9:9+n]); err != nil {
			return err
		}
		b = b[9+n:]
	}
	return nil
}
