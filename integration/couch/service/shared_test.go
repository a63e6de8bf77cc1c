package service

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
)

// following waits until Kasoku caches answers of the database "tweets".
func following(t *testing.T, n *couch.Node) {
	t.Helper()
	couch.Await(t, "a hit", func() bool { return hit(n.Must(t, "GET", "/tweets/t00000", "")) })
}

func hit(a couch.Answer) bool { return strings.Contains(a.Header.Get("Cache-Status"), "; hit") }

// stormClients is the number of concurrent clients.
const stormClients = 1000

// TestStorm checks that a thousand concurrent clients of a view or list that is not cached
// cause one request to the nodes, before anything was cached and after a change.
func TestStorm(t *testing.T) {
	a, b := pair(t, 40)
	proxies := []*couch.Proxy{couch.NewProxy(t, a), couch.NewProxy(t, b)}
	n := client(startKasoku(t, []string{proxies[0].URL, proxies[1].URL}, "limits: {connections: 2000, connections_per_client: 2000}").URL)
	following(t, n)
	asked := func(path string) int { return proxies[0].Asked("GET", path) + proxies[1].Asked("GET", path) }
	for round := range 2 {
		for _, path := range []string{"/tweets" + view, "/tweets" + list(20)} {
			storm(t, n.URL+path)
			if got := asked(path); got != round+1 {
				t.Errorf("round %d: %d clients: got %d requests for %s, want one more", round, stormClients, got, path)
			}
		}
		edit(t, n, "t00003", fmt.Sprint("edition ", round))
		// Until both nodes have the change, only one of them gets requests.
		couch.Await(t, "the other node to have the change", func() bool {
			return a.Must(t, "GET", "/tweets/t00003", "").Body == b.Must(t, "GET", "/tweets/t00003", "").Body
		})
	}
}

// storm sends many concurrent requests, whose answers must be equal.
func storm(t *testing.T, url string) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: stormClients}
	defer transport.CloseIdleConnections()
	var mu sync.Mutex
	bodies := map[string]int{}
	var start, done sync.WaitGroup
	start.Add(1)
	for range stormClients {
		done.Go(func() {
			start.Wait()
			what := ask(transport, url)
			mu.Lock()
			bodies[what]++
			mu.Unlock()
		})
	}
	start.Done()
	done.Wait()
	for what, times := range bodies {
		if times != stormClients || !strings.HasPrefix(what, "200 OK") {
			t.Errorf("%s: %d of %d clients got %.300s", url, times, stormClients, what)
		}
	}
}

func ask(transport *http.Transport, url string) string {
	resp, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return resp.Status + "\n" + string(body)
}
