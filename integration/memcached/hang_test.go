//go:build unix

package memcached

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// TestHangingServer suspends one of three servers under load, so that it accepts connections but
// does not answer, and resumes it: the fallback must answer its keys meanwhile, and afterwards they
// must be hits again without having been stored again.
func TestHangingServer(t *testing.T) {
	servers := StartMany(t, 3)
	backend := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(fromFallback)) }))
	// On a slow machine the other servers may exceed these timeouts too; their keys may then miss.
	node := startKasoku(t, servers, "connect_timeout: 1s", "first_byte_timeout: 1s", "timeout: 2s",
		"distribution: {name: cmf-ketama, points: 150}",
		"locations:",
		`  - {path: /v, key: "${arg.k}", key_decode: decoded, fallback: "`+backend+`"}`)
	own, others := fillServers(t, servers)
	load := startLoad(t, node.URL, own, others, true)
	signal := func(sig syscall.Signal) {
		if err := syscall.Kill(servers[0].program.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	hits := func() bool { return load.fromMemory.Load() > 0 }
	Await(t, "hits of the server to be suspended", hits)
	load.fromFallback.Store(0)
	signal(syscall.SIGSTOP)
	Await(t, "answers by the fallback", func() bool { return load.fromFallback.Load() > 0 })
	load.awaitAnswers(t)
	load.fromMemory.Store(0)
	load.awaitAnswers(t)
	if n := load.fromMemory.Load(); n > 0 {
		t.Errorf("while the server was suspended: got %d hits for its keys, want none", n)
	}
	signal(syscall.SIGCONT)
	Await(t, "hits after the server was resumed", hits)
	load.stop()
}
