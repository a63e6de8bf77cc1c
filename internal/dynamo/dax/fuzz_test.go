package dax

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// tape is a connection that returns bytes in pieces, and records the bytes written.
type tape struct {
	net.Conn
	b    []byte
	step int
	sent []byte
}

func (p *tape) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.step)], p.b)
	p.b = p.b[n:]
	return n, nil
}

func (p *tape) Write(b []byte) (int, error)      { p.sent = append(p.sent, b...); return len(b), nil }
func (p *tape) Close() error                     { return nil }
func (p *tape) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8111} }
func (p *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (p *tape) SetDeadline(time.Time) error      { return nil }
func (p *tape) SetReadDeadline(time.Time) error  { return nil }
func (p *tape) SetWriteDeadline(time.Time) error { return nil }

// FuzzConnection sends arbitrary bytes: the result doesn't depend on the pieces in which
// they arrive, nothing panics, and the whole byte budget is released.
func FuzzConnection(f *testing.F) {
	for _, preamble := range preambles {
		f.Add(unhex(f, preamble+authorization1+askEndpoints+askEcho+"43010203"))
	}
	for _, request := range []string{askFail + "4101", askNothing, "013a2c43e27e4454616232", "013a495927bb8263616765646e616d65", "011a27f9bd7102",
		"01199999", "0219", askEcho + "9f" + strings.Repeat("00", 9000) + "ff", askEcho + "5a00ffffff"} {
		f.Add(unhex(f, preambles["Go v2"]+request+askEcho+"4101"))
	}
	r := newRig(f, func(c *Config) { c.Limits.RequestBytes, c.Limits.BufferedBytes = 64<<10, 1<<20 })
	r.srv.methods = slices.DeleteFunc(r.srv.methods, func(m *method) bool { return m.name == "Wait" || m.name == "Release" })
	play := func(b []byte, step int) (requests, sent int) {
		p := &tape{b: b, step: step}
		c := newConn(r.srv, p)
		r.srv.conns.Track(&c.Conn)
		c.Serve()
		return len(r.log.take()), len(p.sent)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		requests, sent := play(b, len(b)+1)
		again, sentAgain := play(b, 3)
		if requests != again || sent != sentAgain {
			t.Errorf("in one piece: %d requests, %d bytes sent; in several: %d, %d", requests, sent, again, sentAgain)
		}
		if n := r.srv.room.used.Load(); n != 0 {
			t.Errorf("%d bytes of the budget were not released", n)
		}
	})
}
