package memcached

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// StartProxy starts a twemproxy in front of servers. Kill stops it.
func StartProxy(t testing.TB, servers []*Server) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "proxy.yml")
	args := func(addr string) []string {
		var text strings.Builder
		fmt.Fprintf(&text, "pool:\n  listen: %s\n  hash: fnv1a_64\n  distribution: ketama\n  preconnect: true\n  servers:\n", addr)
		for _, s := range servers {
			fmt.Fprintf(&text, "    - %s:1\n", s.Addr)
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Error(err)
		}
		stats, err := harness.StablePort()
		if err != nil {
			t.Error(err)
		}
		_, port, _ := net.SplitHostPort(stats)
		return []string{tool("nutcracker"), "-c", file, "-a", "127.0.0.1", "-s", port, "-o", "/dev/stderr"}
	}
	s := &Server{}
	s.launch(t, harness.StablePort, args, forwards)
	return s
}

// forwards reports whether a proxy answers. own can't be used: a proxy does not answer the
// statistics command.
func forwards(s *Server, _ int) bool {
	nc, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return false
	}
	defer nc.Close()
	reply := make([]byte, len("END\r\n"))
	if _, err := nc.Write([]byte("get none\r\n")); err != nil {
		return false
	}
	_, err = nc.Read(reply)
	return err == nil && reply[0] == 'E'
}
