package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// scripted dials connections whose other ends follow scripts: the n-th connection follows the
// n-th script, and further ones are refused. A step is
//
//	> bytes   these are received
//	< bytes   these are sent
//	>q "..."  bytes are received, as Go quotes them
//	<q "..."  bytes are sent, as Go quotes them
//	after 1s  nothing happens for this time
//	end       the connection is closed
//	refuse    (as the only step) the connection is refused, after the time
//	          that may follow
//	hang      (as the only step) dialing times out
//
// After the last step the connection remains open.
type scripted struct {
	t       *testing.T
	scripts []string
	dials   atomic.Int32
	wg      sync.WaitGroup
}

var errNoScript = errors.New("connection refused")

func (s *scripted) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	n := int(s.dials.Add(1)) - 1
	if n >= len(s.scripts) {
		return nil, errNoScript
	}
	if after, refused := strings.CutPrefix(s.scripts[n], "refuse"); refused {
		d, _ := time.ParseDuration(strings.TrimSpace(after)) // 0 if there is none
		time.Sleep(d)                                        // on the bubble's clock
		return nil, errNoScript
	}
	if s.scripts[n] == "hang" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	near, far := net.Pipe()
	s.wg.Go(func() { s.play(far, s.scripts[n]) })
	return near, nil
}

var newlines = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

func (s *scripted) play(nc net.Conn, script string) {
	for step := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		verb, text, _ := strings.Cut(strings.TrimSpace(step), " ")
		if quoted, ok := strings.CutSuffix(verb, "q"); ok {
			verb = quoted
			text, _ = strconv.Unquote(text)
		} else {
			text = newlines.Replace(text)
		}
		switch verb {
		case ">":
			got := make([]byte, len(text))
			if _, err := io.ReadFull(nc, got); err != nil || string(got) != text {
				s.t.Errorf("received %q (%v), want %q", got, err, text)
			}
		case "<":
			if _, err := io.Copy(nc, bytes.NewReader([]byte(text))); err != nil {
				s.t.Logf("sending %q: %v", text, err) // the client has closed the connection
			}
		case "after":
			d, err := time.ParseDuration(text)
			if err != nil {
				s.t.Error(err)
			}
			time.Sleep(d) // on the bubble's clock
		case "end":
			nc.Close()
			return
		}
	}
	_, _ = io.Copy(io.Discard, nc)
	nc.Close()
}

// hello is the beginning of each script with Text.
const hello = `> version\r\n
	< VERSION 1\r\n
	`

// play runs f with a client whose connections follow scripts, with synctest's clock.
func play(t *testing.T, name string, cfg Config, scripts []string, f func(t *testing.T, c *Client, s *scripted)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{t: t, scripts: scripts}
			cfg.Servers, cfg.dial = []Server{{Address: "server:11211"}}, s
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			f(t, c, s)
			c.Close()
			s.wg.Wait()
		})
	})
}

// get gets the value of a key.
func get(c *Client, key string) (Result, string) {
	x := NewCall()
	defer x.Release()
	r := c.Get(x, 0, []byte(key), GetOptions{})
	return r, string(x.Value())
}
