package memcached

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
)

const clients = 1000

// backend is a fallback that counts its requests, and delays answers while the gate is closed.
type backend struct {
	url   string
	gate  fault.Injector
	asked atomic.Int64
}

func startBackend(t *testing.T, body string) *backend {
	b := &backend{}
	count := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(body))
	})
	gated := b.gate.Wrap(count)
	b.url = harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		gated.ServeHTTP(w, r)
	}))
	return b
}

// TestConcurrentMissesMakeOneRequest requests a missing key from 1,000 clients while the
// fallback holds its answer. The fallback must receive one request, every client must get its
// answer, and with store the server must hold it afterwards.
func TestConcurrentMissesMakeOneRequest(t *testing.T) {
	for _, store := range []bool{false, true} {
		t.Run(fmt.Sprintf("store %v", store), func(t *testing.T) {
			server := Start(t)
			back := startBackend(t, `{"n":1}`)
			location := `  - {path: /v, key: "${arg.k}", content_type: application/json, fallback: "` + back.url + `"}`
			if store {
				location = location[:len(location)-1] + ", store: {ttl: 100s}}"
			}
			node := startKasoku(t, []*Server{server}, append(longTimeouts, "locations:", location)...)
			release := back.gate.Hold()
			results := storm(t, node.URL+"/v?k=cold")
			// Once the server has received all gets, every request is a miss. A request that
			// handles its miss after the flight's end gets the flight's answer too.
			Await(t, "1,000 gets", func() bool { return gets(t, server) >= clients })
			release()
			checkStorm(t, results(), `{"n":1}`)
			if n := back.asked.Load(); n != 1 {
				t.Errorf("the fallback received %d requests, want 1", n)
			}
			if store {
				Await(t, "the value in memcached", func() bool { return string(server.Held(t, "cold")["cold"].Value) == `{"n":1}` })
				if left := server.TTL(t, "cold"); left < 1 || left > 100 {
					t.Errorf("the value expires in %d s, want 100", left)
				}
				return
			}
			if held := server.Held(t, "cold"); len(held) > 0 {
				t.Errorf("without store the server has %v", held)
			}
		})
	}
}

// storm sends a request from each client, to the URLs in turn. The returned function waits
// for the answers.
func storm(t *testing.T, urls ...string) func() []answer {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	t.Cleanup(client.CloseIdleConnections)
	answers := make([]answer, clients)
	var done sync.WaitGroup
	for i := range answers {
		done.Go(func() {
			got, err := ask(t.Context(), client, "GET", urls[i%len(urls)])
			if err != nil {
				got.body = err.Error()
			}
			answers[i] = got
		})
	}
	return func() []answer {
		done.Wait()
		return answers
	}
}

func checkStorm(t *testing.T, answers []answer, want string) {
	t.Helper()
	wrong := 0
	for _, got := range answers {
		if got.status != http.StatusOK || got.body != want {
			if wrong++; wrong == 1 {
				t.Errorf("a client got %+v", got)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d clients did not get the value", wrong, len(answers))
	}
}

// gets returns the number of values requested from a server.
func gets(t *testing.T, s *Server) int {
	t.Helper()
	n, err := strconv.Atoi(s.Stats(t)["cmd_get"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOneRefresher has two processes serve an item that is stale but still usable: one of
// them must fetch it from the fallback, once, and all clients are answered meanwhile.
func TestOneRefresher(t *testing.T) {
	server := Start(t)
	back := startBackend(t, `{"n":2}`)
	service := append(longTimeouts, "locations:",
		`  - {path: /v, key: "${arg.k}", content_type: application/json, fallback: "`+back.url+`", store: {ttl: 1000s, stale: 1000s}}`)
	one, other := startKasoku(t, []*Server{server}, service...), startKasoku(t, []*Server{server}, service...)
	began := time.Now()
	server.Set(t, "k", 0, 999, `{"n":1}`) // stale for a second
	release := back.gate.Hold()
	answers := storm(t, one.URL+"/v?k=k", other.URL+"/v?k=k")()
	// A process that has not renewed a value for 15 s may have died: another process takes over.
	limit := int64(1)
	if time.Since(began) > 12*time.Second {
		limit = 2
	}
	checkStorm(t, answers, `{"n":1}`)
	Await(t, "the refresh", func() bool { return back.asked.Load() > 0 })
	release()
	for _, node := range []*harness.Node{one, other} {
		Await(t, "the new value", func() bool { return mustAsk(t, "GET", node.URL+"/v?k=k").body == `{"n":2}` })
	}
	if n := back.asked.Load(); n > limit {
		t.Errorf("the fallback received %d requests, want at most %d", n, limit)
	}
	if left := server.TTL(t, "k"); left <= 1000 || left > 2000 {
		t.Errorf("the new value expires in %d s, want 2000", left)
	}
}
