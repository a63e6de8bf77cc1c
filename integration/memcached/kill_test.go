package memcached

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

const fromFallback = "from the fallback"

// TestKilledServer kills and restarts one of three servers under load. The keys of the others must
// be hits throughout; the fallback must answer its own keys while it is down, and they must be hits
// again after its restart.
func TestKilledServer(t *testing.T) {
	servers := StartMany(t, 3)
	backend := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(fromFallback)) }))
	node := startKasoku(t, servers, append(longTimeouts,
		"distribution: {name: cmf-ketama, points: 150}",
		"locations:",
		`  - {path: /v, key: "${arg.k}", key_decode: decoded, fallback: "`+backend+`"}`)...)
	own, others := fillServers(t, servers)
	load := startLoad(t, node.URL, own, others, false)
	hitsAgain := func() bool { return load.fromMemory.Load() > 0 }

	load.awaitAnswers(t)
	Await(t, "hits of the server that will be killed", hitsAgain)
	if n := load.fromFallback.Load(); n > 0 {
		t.Errorf("before the kill: got %d answers of the fallback for the server's keys, want none", n)
	}
	servers[0].Kill()
	Await(t, "answers by the fallback", func() bool { return load.fromFallback.Load() > 0 })
	load.awaitAnswers(t)
	load.fromMemory.Store(0)
	load.awaitAnswers(t)
	if n := load.fromMemory.Load(); n > 0 {
		t.Errorf("while the server was down: got %d hits for its keys, want none", n)
	}
	servers[0].Restart(t)
	fill(t, servers[0], own)
	back := time.Now()
	Await(t, "hits after the return", hitsAgain)
	t.Logf("first hit %v after the server was restarted and filled", time.Since(back).Round(time.Millisecond))
	load.stop()
	every := load.countHits(t, node.URL, own)
	if every != len(own) {
		t.Errorf("after the restart: got %d hits of %d keys, want all", every, len(own))
	}
}

// fillServers fills servers with keys according to the ring, and returns the keys of the first
// server and those of the others.
func fillServers(t *testing.T, servers []*Server) (own, others []string) {
	t.Helper()
	var list []string
	for _, s := range servers {
		list = append(list, s.Addr)
	}
	items := map[string]string{}
	var keys []string
	for i := range 300 {
		key := fmt.Sprintf("%d::%d", i%7, i)
		keys, items[key] = append(keys, key), valueOf(key)
	}
	WritePerl(t, Options{"servers": list, "ketama_points": 150}, items)
	held := servers[0].Held(t, keys...)
	for _, key := range keys {
		if _, ok := held[key]; ok {
			own = append(own, key)
		} else {
			others = append(others, key)
		}
	}
	if len(own) == 0 || len(others) == 0 {
		t.Fatalf("one server has %d keys, the others have %d", len(own), len(others))
	}
	return own, others
}

func valueOf(key string) string { return "value of " + key }

func fill(t *testing.T, s *Server, keys []string) {
	t.Helper()
	for _, key := range keys {
		s.Set(t, key, 0, 0, valueOf(key))
	}
}

// loadClients is the number of clients for each kind of key.
const loadClients = 8

// load is a group of clients that request keys in a loop.
type load struct {
	client *http.Client
	cancel context.CancelFunc
	done   sync.WaitGroup

	answers                  [2 * loadClients]atomic.Int64 // to each client
	fromMemory, fromFallback atomic.Int64                  // for keys of the server that is killed
	elsewhere                atomic.Int64                  // for the others' keys
	wrong                    atomic.Int64
}

// startLoad starts clients of both kinds of keys. A wrong answer fails the test, as does an
// answer of the fallback for a key of the other servers, unless mayMiss is true.
func startLoad(t *testing.T, address string, own, others []string, mayMiss bool) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * loadClients}}, cancel: cancel}
	t.Cleanup(l.stop)
	run := func(answers, hits, misses *atomic.Int64, keys []string, mayMiss bool) {
		for i := 0; ctx.Err() == nil; i++ {
			key := keys[i%len(keys)]
			got, err := l.ask(context.WithoutCancel(ctx), address, key)
			switch {
			case err == nil && got.status == http.StatusOK && got.body == valueOf(key):
				hits.Add(1)
			case err == nil && got.status == http.StatusOK && got.body == fromFallback && mayMiss:
				misses.Add(1)
			case l.wrong.Add(1) < 4:
				t.Errorf("%s: got %+v, %v", key, got, err)
			}
			answers.Add(1)
		}
	}
	for i := range loadClients {
		l.done.Go(func() { run(&l.answers[i], &l.fromMemory, &l.fromFallback, own, true) })
		l.done.Go(func() { run(&l.answers[loadClients+i], &l.elsewhere, &l.elsewhere, others, mayMiss) })
	}
	return l
}

func (l *load) ask(ctx context.Context, address, key string) (answer, error) {
	return ask(ctx, l.client, "GET", address+"/v?k="+url.QueryEscape(key))
}

// awaitAnswers waits until every client has received further answers.
func (l *load) awaitAnswers(t *testing.T) {
	t.Helper()
	for i := range l.answers {
		target := l.answers[i].Load() + 20 // the first may belong to an earlier request
		Await(t, "more answers", func() bool { return l.answers[i].Load() >= target })
	}
}

func (l *load) stop() {
	l.cancel()
	l.done.Wait()
	l.client.CloseIdleConnections()
}

// countHits requests each key once and returns how many answers are hits.
func (l *load) countHits(t *testing.T, address string, keys []string) (hits int) {
	t.Helper()
	for _, key := range keys {
		got, err := l.ask(t.Context(), address, key)
		if err != nil {
			t.Fatal(err)
		}
		if got.body == valueOf(key) {
			hits++
		}
	}
	return hits
}
