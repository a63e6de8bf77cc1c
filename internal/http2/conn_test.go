package http2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	theirs "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is a client in memory: it writes frames with x/net's Framer, and reads with it the frames
// that the server has appended.
type peer struct {
	t    *testing.T
	c    *Conn
	in   bytes.Buffer // sent to the server
	out  bytes.Buffer // sent by the server
	fr   *theirs.Framer
	head bytes.Buffer
	enc  *hpack.Encoder
	dec  *hpack.Decoder
	log  []string // events, and then the error
	max  int      // the largest part of Out
	open map[uint32]*Stream
}

func newPeer(t *testing.T) *peer {
	p := &peer{t: t, c: NewConn(Config{MaxStreams: 3, HeaderList: 4000, Window: 1000, ConnWindow: 100000}), open: map[uint32]*Stream{}}
	p.fr = theirs.NewFramer(&p.in, &p.out)
	p.fr.AllowIllegalWrites = true
	p.enc, p.dec = hpack.NewEncoder(&p.head), hpack.NewDecoder(4096, nil)
	p.in.WriteString(preface)
	_ = p.fr.WriteSettings()
	return p
}

// block encodes fields "name: value" behind the pseudo-header fields of a GET request.
func (p *peer) block(fields ...string) []byte {
	return p.raw(append([]string{":method: GET", ":scheme: https", ":path: /", ":authority: test"}, fields...)...)
}

func (p *peer) raw(fields ...string) []byte {
	p.head.Reset()
	for _, f := range fields {
		name, value, _ := strings.Cut(f[1:], ": ")
		_ = p.enc.WriteField(hpack.HeaderField{Name: f[:1] + name, Value: value})
	}
	return bytes.Clone(p.head.Bytes())
}

func (p *peer) headers(id uint32, block []byte, end, endHeaders bool) {
	_ = p.fr.WriteHeaders(theirs.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: end, EndHeaders: endHeaders})
}

// run passes the bytes to the server in pieces of n bytes, and returns the first error.
func (p *peer) run(n int) error {
	var have []byte
	for p.in.Len() > 0 {
		have = append(have, p.in.Next(n)...)
		for {
			used, e, err := p.c.Next(have)
			have = have[used:]
			if err != nil {
				p.log = append(p.log, err.Error()[len("http2: "):])
				p.c.GoAway(err.(Code))
			}
			if err == nil && e.Kind == None {
				break
			}
			p.note(e)
			p.out.Write(p.c.Out)
			p.max = max(p.max, len(p.c.Out))
			if p.c.Out = p.c.Out[:0]; err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *peer) note(e Event) {
	switch e.Kind {
	case Request:
		p.open[e.Stream.ID] = e.Stream
		p.log = append(p.log, fmt.Sprintf("request %d %s %s%s end=%v", e.Stream.ID, e.Head.Method, e.Head.Authority, e.Head.Path, e.End))
		for _, f := range e.Head.Fields {
			p.log = append(p.log, string(f.Name)+": "+string(f.Value))
		}
	case Data:
		if n := len(p.log); n > 0 && p.log[n-1] == fmt.Sprintf("data %d", e.Stream.ID) {
			p.log = p.log[:n-1]
		}
		p.log = append(p.log, fmt.Sprintf("data %d", e.Stream.ID))
		if e.End {
			p.log = append(p.log, "end")
		}
		p.c.Consumed(e.Stream, len(e.Data))
	case Trailer:
		p.log = append(p.log, fmt.Sprintf("trailer %d", e.Stream.ID))
		for _, f := range e.Head.Fields {
			p.log[len(p.log)-1] += " " + string(f.Name)
		}
	case Reset:
		p.log = append(p.log, fmt.Sprintf("reset %d %s", e.Stream.ID, e.Code.Error()[len("http2: "):]))
		p.c.Release(e.Stream)
	}
}

// answers returns the frames that the server has sent, except the first ones.
func (p *peer) answers() (list []string) {
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.t.Error(err)
			}
			return list
		}
		switch f := f.(type) {
		case *theirs.HeadersFrame:
			fields, err := p.dec.DecodeFull(f.HeaderBlockFragment())
			list = append(list, fmt.Sprintf("HEADERS %d %v end=%v %v", f.StreamID, fields, f.StreamEnded(), err))
		case *theirs.DataFrame:
			list = append(list, fmt.Sprintf("DATA %d %d end=%v", f.StreamID, len(f.Data()), f.StreamEnded()))
		case *theirs.RSTStreamFrame:
			list = append(list, fmt.Sprintf("RST %d %v", f.StreamID, f.ErrCode))
		case *theirs.GoAwayFrame:
			list = append(list, fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode))
		case *theirs.WindowUpdateFrame:
			list = append(list, fmt.Sprintf("WINDOW %d %d", f.StreamID, f.Increment))
		case *theirs.PingFrame:
			list = append(list, fmt.Sprintf("PING %q %v", f.Data, f.IsAck()))
		}
	}
}

// TestNext checks the events and the answers for streams of frames that arrive whole and in
// pieces.
func TestNext(t *testing.T) {
	f := func(name string, send func(p *peer), want ...string) {
		t.Helper()
		for _, n := range []int{1, 7, 1 << 20} {
			p := newPeer(t)
			send(p)
			_ = p.run(n)
			if got := strings.Join(p.log, "; "); got != strings.Join(want, "; ") {
				t.Errorf("%s, in pieces of %d: got %s; want %s", name, n, got, strings.Join(want, "; "))
			}
		}
	}
	f("a request", func(p *peer) { p.headers(1, p.block("x-a: 1"), true, true) }, "request 1 GET test/ end=true", "x-a: 1")
	f("host instead of :authority", func(p *peer) {
		p.headers(1, p.raw(":method: GET", ":scheme: https", ":path: /", "host: a"), true, true)
	},
		"request 1 GET a/ end=true", "host: a")
	f("a body", func(p *peer) {
		p.headers(1, p.block(), false, true)
		_ = p.fr.WriteData(1, false, []byte("hello"))
		_ = p.fr.WriteDataPadded(1, true, []byte("hello"), []byte{0, 0, 0})
	}, "request 1 GET test/ end=false", "data 1", "end")
	f("a trailer", func(p *peer) {
		p.headers(1, p.block(), false, true)
		_ = p.fr.WriteData(1, false, []byte("hello"))
		p.headers(1, p.raw("x-sum: 1"), true, true)
	}, "request 1 GET test/ end=false", "data 1", "trailer 1 x-sum")
	f("CONTINUATION", func(p *peer) {
		b := p.block("x-a: 1")
		p.headers(1, b[:3], true, false)
		_ = p.fr.WriteContinuation(1, false, b[3:4])
		_ = p.fr.WriteContinuation(1, true, b[4:])
	}, "request 1 GET test/ end=true", "x-a: 1")
	f("reset", func(p *peer) {
		p.headers(1, p.block(), true, true)
		_ = p.fr.WriteRSTStream(1, theirs.ErrCodeCancel)
	}, "request 1 GET test/ end=true", "reset 1 CANCEL")
	f("more than the window", func(p *peer) {
		p.headers(1, p.block(), false, true)
		_ = p.fr.WriteData(1, false, make([]byte, 1001))
	}, "request 1 GET test/ end=false", "reset 1 FLOW_CONTROL_ERROR")
	f("content-length is exceeded", func(p *peer) {
		p.headers(1, p.block("content-length: 4"), false, true)
		_ = p.fr.WriteData(1, false, []byte("hello"))
	}, "request 1 GET test/ end=false", "content-length: 4", "reset 1 PROTOCOL_ERROR")
	f("a window of a stream overflows", func(p *peer) {
		p.headers(1, p.block(), true, true)
		_ = p.fr.WriteWindowUpdate(1, maxWindow)
	}, "request 1 GET test/ end=true", "reset 1 FLOW_CONTROL_ERROR")
}

// TestMalformedRequests checks that only the stream of a malformed request is reset.
func TestMalformedRequests(t *testing.T) {
	f := func(fields ...string) {
		t.Helper()
		p := newPeer(t)
		p.headers(1, p.raw(fields...), true, true)
		p.headers(3, p.block(), true, true)
		if err := p.run(1 << 20); err != nil || len(p.log) != 1 || !strings.HasPrefix(p.log[0], "request 3") {
			t.Errorf("%q: %v, %q", fields, err, p.log)
		}
		if got := strings.Join(p.answers(), "; "); !strings.Contains(got, "RST 1 PROTOCOL_ERROR") {
			t.Errorf("%q: answers %s", fields, got)
		}
	}
	request := func(fields ...string) []string {
		return append([]string{":method: GET", ":scheme: https", ":path: /", ":authority: test"}, fields...)
	}
	f(":method: GET", ":scheme: https")
	f(":method: GET", ":path: /")
	f(":scheme: https", ":path: /")
	f(":method: GET", ":scheme: https", ":path: ")
	f(":method: GET", ":scheme: https", ":path: x")
	f(":method: CONNECT", ":scheme: https", ":path: /", ":authority: a")
	f("x-a: 1", ":method: GET", ":scheme: https", ":path: /")
	f(request(":path: /")...)
	f(request(":status: 200")...)
	f(request(":protocol: websocket")...)
	f(request("X-A: 1")...)
	f(request("x a: 1")...)
	f(request("x-a: \x00")...)
	f(request("x-a: b\r\nx-b: c")...)
	f(request("x-a:  b")...)
	f(request("connection: close")...)
	f(request("keep-alive: 1")...)
	f(request("proxy-connection: close")...)
	f(request("transfer-encoding: chunked")...)
	f(request("upgrade: h2c")...)
	f(request("te: gzip")...)
	f(request("host: other")...)
	f(request("content-length: 1")...)
	f(request("content-length: 0", "content-length: 0")...)
	f(request("content-length: x")...)
}

// TestConnectionErrors checks that violations of the protocol end the connection with the
// right code.
func TestConnectionErrors(t *testing.T) {
	f := func(name string, want Code, send func(p *peer)) {
		t.Helper()
		p := newPeer(t)
		send(p)
		if err := p.run(1 << 20); err != want {
			t.Errorf("%s: got %v, want %v; %q", name, err, want, p.log)
		}
	}
	raw := func(kind theirs.FrameType, flags theirs.Flags, id uint32, payload string) func(p *peer) {
		return func(p *peer) { _ = p.fr.WriteRawFrame(kind, flags, id, []byte(payload)) }
	}
	f("a large frame", FrameSizeError, raw(theirs.FramePing, 0, 0, strings.Repeat("x", MaxFrame+1)))
	f("HEADERS on stream 0", ProtocolError, raw(theirs.FrameHeaders, 5, 0, "\x82"))
	f("HEADERS on an even stream", ProtocolError, raw(theirs.FrameHeaders, 5, 2, "\x82"))
	f("HEADERS with too much padding", ProtocolError, raw(theirs.FrameHeaders, 5|8, 1, "\x05\x82"))
	f("HEADERS that depend on themselves", ProtocolError, raw(theirs.FrameHeaders, 5|32, 1, "\x00\x00\x00\x01\x10\x82"))
	f("a malformed block", CompressionError, raw(theirs.FrameHeaders, 5, 1, "\x80"))
	f("DATA on stream 0", ProtocolError, raw(theirs.FrameData, 0, 0, "x"))
	f("DATA on an idle stream", ProtocolError, raw(theirs.FrameData, 0, 1, "x"))
	f("DATA with too much padding", ProtocolError, raw(theirs.FrameData, 8, 1, "\x05x"))
	f("RST_STREAM on stream 0", ProtocolError, raw(theirs.FrameRSTStream, 0, 0, "1234"))
	f("RST_STREAM on an idle stream", ProtocolError, raw(theirs.FrameRSTStream, 0, 1, "1234"))
	f("a short RST_STREAM", FrameSizeError, raw(theirs.FrameRSTStream, 0, 1, "123"))
	f("SETTINGS on a stream", ProtocolError, raw(theirs.FrameSettings, 0, 1, ""))
	f("SETTINGS of 5 bytes", FrameSizeError, raw(theirs.FrameSettings, 0, 0, "12345"))
	f("an acknowledgement with settings", FrameSizeError, raw(theirs.FrameSettings, 1, 0, "\x00\x04\x00\x00\x00\x01"))
	f("ENABLE_PUSH 2", ProtocolError, raw(theirs.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02"))
	f("a large window", FlowControlError, raw(theirs.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"))
	f("small frames", ProtocolError, raw(theirs.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01"))
	f("PUSH_PROMISE", ProtocolError, raw(theirs.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x82"))
	f("PING on a stream", ProtocolError, raw(theirs.FramePing, 0, 1, "12345678"))
	f("a short PING", FrameSizeError, raw(theirs.FramePing, 0, 0, "1234567"))
	f("GOAWAY on a stream", ProtocolError, raw(theirs.FrameGoAway, 0, 1, "12345678"))
	f("WINDOW_UPDATE of 0", ProtocolError, raw(theirs.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"))
	f("WINDOW_UPDATE on an idle stream", ProtocolError, raw(theirs.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x01"))
	f("a short WINDOW_UPDATE", FrameSizeError, raw(theirs.FrameWindowUpdate, 0, 0, "\x00\x00\x01"))
	f("a window that overflows", FlowControlError, raw(theirs.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"))
	f("CONTINUATION without HEADERS", ProtocolError, raw(theirs.FrameContinuation, 4, 1, "\x82"))
	f("PRIORITY on stream 0", ProtocolError, raw(theirs.FramePriority, 0, 0, "\x00\x00\x00\x01\x10"))
	f("PRIORITY_UPDATE on a stream", ProtocolError, raw(framePriorityUpdate, 0, 1, "\x00\x00\x00\x01i"))
	f("a frame within a block", ProtocolError, func(p *peer) {
		p.headers(1, p.block(), true, false)
		_ = p.fr.WritePing(false, [8]byte{})
	})
	f("a lower stream", ProtocolError, func(p *peer) {
		p.headers(5, p.block(), true, true)
		p.headers(3, p.block(), true, true)
	})
	f("HEADERS on a stream that was reset", StreamClosed, func(p *peer) {
		p.headers(1, p.block(), true, true)
		_ = p.fr.WriteRSTStream(1, theirs.ErrCodeCancel)
		p.headers(1, p.block(), true, true)
	})
	f("DATA on a stream that was reset", StreamClosed, func(p *peer) {
		p.headers(1, p.block(), false, true)
		_ = p.fr.WriteRSTStream(1, theirs.ErrCodeCancel)
		_ = p.fr.WriteData(1, true, []byte("x"))
	})
	f("a wrong preface", ProtocolError, func(p *peer) { p.in.Reset(); p.in.WriteString("GET / HTTP/1.1\r\n\r\n") })
	f("no SETTINGS", ProtocolError, func(p *peer) {
		p.in.Reset()
		p.in.WriteString(preface)
		_ = p.fr.WritePing(false, [8]byte{})
	})
}

// TestAttacks checks that clients which only cause work are disconnected, after a bounded number
// of frames and with bounded memory.
func TestAttacks(t *testing.T) {
	const frames = 20000
	f := func(name, reason string, begin, attack func(p *peer, i uint32)) {
		t.Helper()
		p := newPeer(t)
		if begin != nil {
			begin(p, 0)
		}
		var err error
		sent := 0
		for i := range uint32(frames) {
			attack(p, i)
			if err = p.run(1 << 20); err != nil {
				break
			}
			sent++
		}
		if err != EnhanceYourCalm || p.c.Flood != reason {
			t.Errorf("%s: %v, %s after %d; want %s", name, err, p.c.Flood, sent, reason)
		}
		if limit := controlBurst + 2; sent > limit {
			t.Errorf("%s: ended after %d rounds, want at most %d", name, sent, limit)
		}
		if size := cap(p.c.block) + cap(p.c.dec.text) + cap(p.c.Out); p.max > 64<<10 || size > 64<<10 || p.c.Streams() > 3 {
			t.Errorf("%s: answers of %d bytes, buffers of %d, %d streams", name, p.max, size, p.c.Streams())
		}
	}
	raw := func(kind theirs.FrameType, flags theirs.Flags, id uint32, payload string) func(*peer, uint32) {
		return func(p *peer, _ uint32) { _ = p.fr.WriteRawFrame(kind, flags, id, []byte(payload)) }
	}
	request := func(p *peer, _ uint32) { p.headers(1, p.block(), false, true) }
	opened := func(p *peer, _ uint32) { p.headers(1, p.block(), true, false) }
	id := func(i uint32) uint32 { return 2*i + 1 }
	f("PING", "control_frames", nil, raw(theirs.FramePing, 0, 0, "12345678"))
	f("acknowledged PING", "control_frames", nil, raw(theirs.FramePing, 1, 0, "12345678"))
	f("SETTINGS", "control_frames", nil, raw(theirs.FrameSettings, 0, 0, ""))
	f("acknowledged SETTINGS", "control_frames", nil, raw(theirs.FrameSettings, 1, 0, ""))
	f("SETTINGS with many entries", "control_frames", nil, raw(theirs.FrameSettings, 0, 0, strings.Repeat("\x00\x04\x00\x00\x00\x01", 2730)))
	f("WINDOW_UPDATE", "control_frames", nil, raw(theirs.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x01"))
	f("WINDOW_UPDATE of a stream", "control_frames", request, raw(theirs.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x01"))
	f("PRIORITY", "control_frames", nil, raw(theirs.FramePriority, 0, 1, "\x00\x00\x00\x03\x10"))
	f("PRIORITY of itself", "resets", nil, raw(theirs.FramePriority, 0, 1, "\x00\x00\x00\x01\x10"))
	f("a short PRIORITY", "resets", nil, raw(theirs.FramePriority, 0, 1, "\x00\x00"))
	f("PRIORITY_UPDATE", "control_frames", nil, raw(framePriorityUpdate, 0, 0, "\x00\x00\x00\x01u=1"))
	f("unknown frames", "control_frames", nil, raw(0x55, 0, 0, "x"))
	f("GOAWAY", "control_frames", nil, raw(theirs.FrameGoAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"))
	f("empty DATA", "control_frames", request, raw(theirs.FrameData, 0, 1, ""))
	f("DATA of padding", "control_frames", request, raw(theirs.FrameData, 8, 1, "\x02\x00\x00"))
	f("empty CONTINUATION", "control_frames", opened, raw(theirs.FrameContinuation, 0, 1, ""))
	f("large CONTINUATION", "header_block", opened, raw(theirs.FrameContinuation, 0, 1, strings.Repeat("\x82", 1000)))
	f("RST_STREAM of a closed stream", "control_frames", func(p *peer, _ uint32) {
		p.headers(1, p.block(), true, true)
		_ = p.fr.WriteRSTStream(1, theirs.ErrCodeCancel)
	}, raw(theirs.FrameRSTStream, 0, 1, "\x00\x00\x00\x00"))
	f("rapid reset", "resets", nil, func(p *peer, i uint32) {
		p.headers(id(i), p.block(), true, true)
		_ = p.fr.WriteRSTStream(id(i), theirs.ErrCodeCancel)
	})
	f("the server resets: a window of 0", "resets", nil, func(p *peer, i uint32) {
		p.headers(id(i), p.block(), true, true)
		_ = p.fr.WriteRawFrame(theirs.FrameWindowUpdate, 0, id(i), []byte{0, 0, 0, 0})
	})
	f("the server resets: a window that overflows", "resets", nil, func(p *peer, i uint32) {
		p.headers(id(i), p.block(), true, true)
		_ = p.fr.WriteWindowUpdate(id(i), maxWindow)
	})
	f("the server resets: DATA after the end", "resets", nil, func(p *peer, i uint32) {
		p.headers(id(i), p.block(), true, true)
		_ = p.fr.WriteData(id(i), true, nil)
	})
	f("the server resets: HEADERS after the end", "resets", nil, func(p *peer, i uint32) {
		p.headers(id(i), p.block(), true, true)
		p.headers(id(i), p.raw("x-a: 1"), true, true)
	})
	f("malformed requests", "resets", nil, func(p *peer, i uint32) { p.headers(id(i), p.block("X-A: 1"), true, true) })
	f("too many streams", "resets", nil, func(p *peer, i uint32) { p.headers(id(i), p.block(), true, true) })
}

// TestHeaderBomb checks that a small block with large fields is refused without their memory.
func TestHeaderBomb(t *testing.T) {
	p := newPeer(t)
	p.headers(1, p.block("x-a: "+strings.Repeat("a", 3000)), true, true)
	if err := p.run(1 << 20); err != nil {
		t.Fatal(err)
	}
	p.headers(3, append(p.block(), bytes.Repeat([]byte{0xbe}, 10000)...), true, true) // the newest entry
	var large bool
	used := 0
	for b := p.in.Bytes(); used < len(b); {
		n, e, err := p.c.Next(b[used:])
		if err != nil {
			t.Fatal(err)
		}
		used += n
		large = large || e.Kind == Request && e.Head.TooLarge
	}
	if !large || cap(p.c.dec.text) > 16<<10 {
		t.Errorf("too large: %v; %d bytes are held", large, cap(p.c.dec.text))
	}
}

// TestAnswer checks the frames of answers.
func TestAnswer(t *testing.T) {
	p := newPeer(t)
	p.headers(1, p.block(), true, true)
	p.headers(3, p.block(), false, true)
	_ = p.fr.WriteSettings(theirs.Setting{ID: theirs.SettingInitialWindowSize, Val: 20000})
	if err := p.run(1 << 20); err != nil {
		t.Fatal(err)
	}
	p.answers()
	first, second := p.open[1], p.open[3]
	body := make([]byte, 70000)
	p.c.Headers(first, AppendField(AppendStatus(nil, 200), "X-A", "b"), false)
	if n := p.c.Data(first, body, true) + p.c.Data(first, body[MaxFrame:], true); n != 20000 || !p.c.Blocked(first) {
		t.Errorf("sent %d bytes, want the window", n)
	}
	p.c.Headers(second, AppendStatus(nil, 404), true)
	p.out.Write(p.c.Out)
	p.c.Out = nil
	got := strings.Join(p.answers(), "\n")
	want := `HEADERS 1 [header field ":status" = "200" header field "x-a" = "b"] end=false <nil>
DATA 1 16384 end=false
DATA 1 3616 end=false
HEADERS 3 [header field ":status" = "404"] end=true <nil>
RST 3 NO_ERROR`
	if got != want {
		t.Errorf("got %s", got)
	}
	_ = p.fr.WriteWindowUpdate(1, 100)
	_ = p.fr.WriteData(3, true, []byte("late data of a stream that was reset is dropped"))
	if err := p.run(1 << 20); err != nil {
		t.Fatal(err)
	}
	if n := p.c.Sendable(first); n != 100 || p.c.Streams() != 1 {
		t.Errorf("%d bytes are sendable on one of %d streams", n, p.c.Streams())
	}
}

// TestDrain checks the two GOAWAYs, and that streams above the last one are ignored.
func TestDrain(t *testing.T) {
	p := newPeer(t)
	_ = p.run(1 << 20)
	p.c.Drain()
	p.headers(1, p.block(), true, true)
	_ = p.fr.WritePing(true, [8]byte([]byte(drainPing)))
	p.headers(3, p.block(), true, true)
	if err := p.run(1 << 20); err != nil || len(p.log) != 1 || p.c.Streams() != 1 {
		t.Errorf("%v, %q", err, p.log)
	}
	if got := strings.Join(p.answers(), "; "); !strings.HasSuffix(got, `GOAWAY 2147483647 NO_ERROR; PING "drain..." false; GOAWAY 1 NO_ERROR`) {
		t.Error(got)
	}
}

// TestWindows checks that consumed bytes are returned to the windows.
func TestWindows(t *testing.T) {
	p := newPeer(t)
	p.headers(1, p.block(), false, true)
	for range 300 {
		_ = p.fr.WriteData(1, false, make([]byte, 400))
	}
	if err := p.run(1 << 20); err != nil {
		t.Fatal(err)
	}
	stream, conn := 0, 0
	for _, a := range p.answers()[1:] {
		var id, n int
		if _, err := fmt.Sscanf(a, "WINDOW %d %d", &id, &n); err == nil && id == 1 {
			stream += n
		} else if err == nil {
			conn += n
		}
	}
	if stream < 119000 || conn < 50000 {
		t.Errorf("returned %d and %d bytes of 120000", stream, conn)
	}
}

func TestBucket(t *testing.T) {
	b := bucket{burst: 10, perSecond: 2}
	f := func(n int64, now time.Duration, want bool) {
		t.Helper()
		if got := b.take(n, now); got != want {
			t.Errorf("take(%d) at %v: %v", n, now, got)
		}
	}
	f(10, 0, true)
	f(1, 0, false)
	f(1, time.Second, true)
	f(1, time.Second, false)
	b.add(5)
	f(4, time.Second, true)
	f(10, time.Hour, true)
}

// FuzzNext passes any bytes in pieces of any size: the events must not depend on the pieces.
func FuzzNext(f *testing.F) {
	p := &peer{c: NewConn(Config{}), open: map[uint32]*Stream{}}
	p.fr = theirs.NewFramer(&p.in, nil)
	p.enc = hpack.NewEncoder(&p.head)
	_ = p.fr.WriteSettings(theirs.Setting{ID: 4, Val: 5})
	p.headers(1, p.block("x-a: 1"), false, true)
	_ = p.fr.WriteDataPadded(1, false, []byte("abc"), make([]byte, 3))
	p.headers(1, p.raw("x-b: 1"), true, true)
	_ = p.fr.WriteWindowUpdate(0, 5)
	_ = p.fr.WriteRSTStream(1, 3)
	f.Add(p.in.Bytes(), uint16(5))
	f.Add([]byte("\x00\x00\x0f\x01\x040001\x82\x87\x84A\x83001@\x03000\x010\x00\x00\a\x01\x0500010000000"), uint16(2)) // an empty trailer
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		events := func(n int) string {
			p := newPeer(t)
			p.in.Write(b)
			_ = p.run(n)
			return strings.Join(p.log, "; ") + fmt.Sprint(p.c.Streams(), p.c.lastID)
		}
		whole := events(1 << 30)
		if pieces := events(int(n)%100 + 1); pieces != whole {
			t.Errorf("in pieces: %s\nwhole: %s", pieces, whole)
		}
	})
}

func TestFrameHeader(t *testing.T) {
	b := appendHeader(nil, 1, 2, 3, 4)
	if f := parseHeader(b); len(b) != headerSize || f.kind != 1 || f.flags != 2 || f.id != 3 || f.length != 4 || binary.BigEndian.Uint32(b[5:]) != 3 {
		t.Errorf("%+v", f)
	}
}
