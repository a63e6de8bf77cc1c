package edge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/inflight"
	waitUntil "github.com/kasoku/kasoku/internal/testutil/await"
)

// pattern returns n bytes that depend on their position and on the seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

// TestH2Mixed makes requests of all kinds at the same time over one connection, of which some
// are cancelled. All answers must be right, and nothing be left in the end.
func TestH2Mixed(t *testing.T) {
	const clients, rounds = 24, 30
	budget := inflight.New(256 * mib)
	stored := pattern(300_000, 0)
	cl, url, s := startH2(t, Config{Budget: budget}, func(x *Exchange) {
		x.Reply.Status = 200
		switch string(x.Request.Path) {
		case "/hit":
			x.Reply.Body = stored[:1000]
		case "/large":
			x.Reply.Body = stored
		case "/context":
			_ = x.Context()
			x.Reply.Body = stored[:5000]
		case "/echo":
			o, err := x.Stream(-1)
			if err == nil {
				_, err = io.Copy(o, x.BodyReader())
			}
			if err == nil {
				_ = o.Close()
			}
		case "/read":
			b, err := x.ReadBody(1 << 20)
			if err != nil {
				x.Reply.Status = 400
			}
			x.Reply.Build(append(x.Reply.Buf, b...))
		}
	})
	request := func(id, round int) error {
		sent := pattern((id*round*977)%150_000, id)
		kind := (id + round) % 6
		path := [...]string{"/hit", "/large", "/context", "/echo", "/read", "/large"}[kind]
		want := [...][]byte{stored[:1000], stored, stored[:5000], sent, sent, stored}[kind]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var body io.Reader
		if kind == 3 || kind == 4 {
			body = onlyReader{bytes.NewReader(sent)}
		}
		r, err := http.NewRequestWithContext(ctx, "POST", url+path, body)
		if err != nil {
			return err
		}
		if id%2 == 0 {
			r.Header.Set("Priority", "i")
		}
		resp, err := cl.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if kind == 5 {
			return nil // the rest is not read: the stream is reset
		}
		got, err := io.ReadAll(resp.Body)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%s: %d bytes that differ from the %d expected ones", path, len(got), len(want))
		}
		return err
	}
	if err := request(0, 0); err != nil { // connects
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for id := range clients {
		group.Go(func() {
			for round := range rounds {
				if err := request(id, round); err != nil {
					t.Errorf("client %d, round %d: %v", id, round, err)
					return
				}
			}
		})
	}
	group.Wait()
	if !waitUntil.Until(t, func() bool { return budget.Stats().Held == 0 }) {
		t.Errorf("%d bytes are held in the end", budget.Stats().Held)
	}
	if n := s.stats.accepted.Value(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
