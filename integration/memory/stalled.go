package memory

import (
	"bytes"
	"crypto/tls"
	"io"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stalled is a group of HTTP/2 connections with a flow control window of zero: the server
// can't send any byte of a body.
type stalled struct {
	conns      []*tls.Conn
	heads      atomic.Int64 // answers whose header has arrived
	unanswered atomic.Int64 // streams that were reset before that
}

// stall opens connections and requests a path on each of their streams.
func stall(t testing.TB, addr string, connections, streams int, path func(connection, stream int) string) *stalled {
	t.Helper()
	s := &stalled{}
	t.Cleanup(s.close)
	for i := range connections {
		nc, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		s.conns = append(s.conns, nc)
		framer := http2.NewFramer(nc, nc)
		ask := request{authority: addr, framer: framer}
		if err := ask.begin(nc); err != nil {
			t.Fatal(err)
		}
		go s.listen(framer)
		for j := range streams {
			if err := ask.get(uint32(2*j+1), path(i, j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// answered returns how many requests have an answer or were reset.
func (s *stalled) answered() int {
	return int(s.heads.Load() + s.unanswered.Load())
}

// close ends the connections.
func (s *stalled) close() {
	for _, nc := range s.conns {
		_ = nc.Close()
	}
}

// listen counts the frames of the server until it closes the connection.
func (s *stalled) listen(framer *http2.Framer) {
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	begun := map[uint32]bool{}
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			begun[f.StreamID] = true
			s.heads.Add(1)
		case *http2.RSTStreamFrame:
			if !begun[f.StreamID] {
				s.unanswered.Add(1)
			}
		}
	}
}

// request encodes requests for one HTTP/2 connection.
type request struct {
	authority string
	framer    *http2.Framer
	block     bytes.Buffer
	encoder   *hpack.Encoder
}

// begin sends the preface, with an initial window of zero for streams.
func (r *request) begin(w io.Writer) error {
	r.encoder = hpack.NewEncoder(&r.block)
	if _, err := io.WriteString(w, http2.ClientPreface); err != nil {
		return err
	}
	return r.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
}

func (r *request) get(stream uint32, path string) error {
	r.block.Reset()
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: r.authority}, {Name: ":path", Value: path},
	} {
		if err := r.encoder.WriteField(f); err != nil {
			return err
		}
	}
	return r.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: r.block.Bytes(), EndStream: true, EndHeaders: true,
	})
}
