package memcached

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// listen starts a listener for the site.
func (s *site) listen() (address string) {
	s.t.Helper()
	server, err := edge.Listen(edge.Config{Name: "counts", Listen: "127.0.0.1:0", Handler: s.svc, Streaming: true})
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	s.t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			s.t.Error(err)
		}
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	return server.Addr().String()
}

// described returns a value that consists of its repeated key.
func described(k string, size int) string {
	return `{"` + strings.Repeat(k+" ", size/(len(k)+1)+1) + `":1}`
}

// Clients get exactly the values that they requested: memory is not reused before a body has
// been written. Requests are pipelined on many connections, for small and large values, plain
// and wrapped, and some clients disconnect.
func TestValuesOnTheWire(t *testing.T) {
	for _, near := range []time.Duration{0, time.Hour} {
		s := newSite(t, 3, Location{Path: "/{k}", Key: "${path.k}", ContentType: "text/javascript", NearTTL: near, Fallback: None, JSONP: dotted(t, jsonp.Dotted)})
		s.start()
		sizes := []int{0, 100, 5_000, 20_000, 300_000}
		const keys = 20
		value := func(i int) string { return described(fmt.Sprint("key", i), sizes[i%len(sizes)]) }
		for i := range keys {
			s.set(fmt.Sprint("key", i), value(i), 0, 0)
		}
		address := s.listen()
		var wg sync.WaitGroup
		for c := range 16 {
			wg.Go(func() {
				nc, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				in := bufio.NewReader(nc)
				for round := range 10 {
					if c == 0 {
						leave(address)
					}
					var asked []int
					var text string
					for n := range 4 {
						i := (c*7 + round*5 + n*3) % keys
						asked = append(asked, i)
						text += fmt.Sprintf("GET /key%d%s HTTP/1.1\r\nHost: a\r\n\r\n", i, []string{"", "?callback=cb"}[i%2])
					}
					if _, err := io.WriteString(nc, text); err != nil {
						t.Error(err)
						return
					}
					for _, i := range asked {
						want := value(i)
						if i%2 == 1 {
							want = "/**/cb(" + want + ");"
						}
						if err := readAnswer(in, want); err != nil {
							t.Errorf("key %d: %v", i, err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

// readAnswer reads an answer and compares its body.
func readAnswer(in *bufio.Reader, want string) error {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != 200 || string(body) != want {
		return fmt.Errorf("got %d with %d bytes %.60q, want %d bytes %.60q", resp.StatusCode, len(body), body, len(want), want)
	}
	return nil
}

// leave requests a long value and does not read it.
func leave(address string) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return // the other clients report the error
	}
	_, _ = io.WriteString(nc, "GET /key4 HTTP/1.1\r\nHost: a\r\n\r\n")
	_ = nc.Close()
}
