package memcached

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// startProxy starts a twemproxy in front of servers. It distributes keys over them by its own ring,
// and supports only a part of the text protocol.
func startProxy(t *testing.T, servers []*Server) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nutcracker.yaml")
	proxy := &Server{}
	proxy.launch(t, harness.StablePort, func(addr string) []string {
		stats, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		text := "pool:\n  listen: " + addr + "\n  hash: fnv1a_64\n  distribution: ketama\n  auto_eject_hosts: false\n  servers:\n"
		for _, s := range servers {
			text += "  - " + s.Addr + ":1\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		host, port, _ := net.SplitHostPort(stats)
		return []string{tool("nutcracker"), "-c", file, "-o", proxy.log, "-a", host, "-s", port}
	}, func(s *Server, _ int) bool {
		var answer string
		err := s.talk("get nothing\r\n", readLine(&answer))
		return err == nil && answer == "END"
	})
	return proxy
}

// TestTwemproxy reads through a proxy, which distributes keys by its own ring, with each
// configured protocol and with detection.
func TestTwemproxy(t *testing.T) {
	servers := StartMany(t, 3)
	proxy := startProxy(t, servers)
	items := map[string]string{}
	for i := range 300 {
		items[fmt.Sprintf("%d::%d", i%7, i)] = valueOf(strconv.Itoa(i))
	}
	WritePerl(t, Options{"servers": []string{proxy.Addr}}, items)
	for protocol, store := range map[string]string{"auto": "{ttl: 100s, stale: 100s}", "text": "{ttl: 100s}"} {
		t.Run(protocol, func(t *testing.T) {
			back := startBackend(t, `{"n":1}`)
			node := startKasoku(t, []*Server{proxy}, append(longTimeouts, "protocol: "+protocol, "locations:",
				`  - {path: /value, key: "${arg.key}", key_decode: decoded, fallback: "`+back.url+`", store: `+store+`}`)...)
			wantAllServed(t, node.URL, items)
			if n := back.asked.Load(); n > 0 {
				t.Errorf("the fallback received %d requests for values that exist", n)
			}
			missing := "missing-" + protocol
			if got := mustAsk(t, "GET", node.URL+"/value?key="+missing); got.status != http.StatusOK || got.body != `{"n":1}` {
				t.Errorf("a miss: got %+v, want the fallback's answer", got)
			}
			Await(t, "the value behind the proxy", func() bool { return countHolders(t, servers, missing) == 1 })
		})
	}
}

// countHolders returns how many servers hold a key.
func countHolders(t *testing.T, servers []*Server, key string) (n int) {
	t.Helper()
	for _, s := range servers {
		n += len(s.Held(t, key))
	}
	return n
}
