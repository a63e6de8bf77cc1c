package memory

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

func TestMain(m *testing.M) { harness.Main(m) }

const mib = 1 << 20

// site is a node in front of an origin of objects, and a client that is not part of an attack.
type site struct {
	t      *testing.T
	node   *harness.Node
	memory int // cache.memory, in MiB
	addr   string
	url    string
	client *http.Client
}

// start starts a node with a cache of the given size in MiB, and puts an object into it.
func start(t *testing.T, memory int, secure bool) *site {
	s := &site{t: t, memory: memory}
	service := []string{}
	scheme := "http://"
	if secure {
		dir := t.TempDir()
		cert, key := certs.SelfSigned(t, 1)
		service = append(service, fmt.Sprintf("tls: {cert: %s, key: %s}", write(t, dir, "cert.pem", cert), write(t, dir, "key.pem", key)))
		scheme = "https://"
	}
	s.node = harness.Start(t, harness.Options{
		Type: "http", Origin: harness.Origin(t, http.HandlerFunc(serveObjects)), Service: service, Plain: true,
		Top: []string{fmt.Sprintf("cache: {memory: %dMiB}", memory)},
	})
	s.addr = strings.TrimPrefix(s.node.URL, "http://")
	s.url = scheme + s.addr
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport}
	s.get(stored, small)
	return s
}

func write(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// small is the size of the objects that the client requests.
const small = 2000

var stored = target("kept", small, "stored")

// get requests an object, which must arrive completely, and returns Cache-Status.
func (s *site) get(path string, size int) string {
	s.t.Helper()
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || n != int64(size) {
		s.t.Fatalf("GET %s: %d with %d bytes (%s), %v", path, resp.StatusCode, n, resp.Header.Get("Cache-Status"), err)
	}
	return resp.Header.Get("Cache-Status")
}

// useful checks that the client receives every answer completely, stored or not, and still has
// hits. An object evicted because of the attack, which may continue, is stored again when it is
// requested.
func (s *site) useful() {
	s.t.Helper()
	hit := func() bool { return strings.HasPrefix(s.get(stored, small), "kasoku; hit") }
	for i := range 20 {
		await.Until(s.t, hit)
		s.get(target("kept", small, fmt.Sprintf("new-%d", i)), small)
		s.get(target("passed", small, fmt.Sprintf("new-%d", i)), small)
	}
}

// recovers holds that nothing remains of the attack, and that large objects are stored.
func (s *site) recovers() {
	s.t.Helper()
	await.Until(s.t, func() bool { return s.metric("kasoku_in_flight_bytes") == 0 })
	large := target("kept", 3*mib, "after")
	await.Until(s.t, func() bool { return strings.HasPrefix(s.get(large, 3*mib), "kasoku; hit") })
}

// bounded holds the process to twice the memory of the cache and 64 MiB.
func (s *site) bounded() {
	s.t.Helper()
	peak, limit := s.peak(), (2*s.memory+64)*mib
	s.t.Logf("peak: %d MiB of %d", peak/mib, limit/mib)
	if peak > limit {
		s.t.Errorf("the process used %d MiB; at most %d are allowed", peak/mib, limit/mib)
	}
}

// peak returns the largest resident memory of the process, in bytes.
func (s *site) peak() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.node.Process()))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				s.t.Fatal(err)
			}
			return n << 10
		}
	}
	s.t.Fatal("the system does not report the peak")
	return 0
}

// metric returns the value of a series without labels.
func (s *site) metric(name string) float64 {
	s.t.Helper()
	text, err := s.node.Metrics()
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return v
		}
	}
	s.t.Fatalf("there is no metric %s", name)
	return 0
}

// HTTP/2 clients that open no window for their requests take no more memory than the
// configuration allows, and don't affect other clients.
func TestStalledStreams(t *testing.T) {
	const connections, streams, memory = 20, 200, 256
	name := func(c, s int) string { return fmt.Sprintf("%d-%d", c, s) }
	f := func(about string, path func(connection, stream int) string) {
		t.Run(about, func(t *testing.T) {
			s := start(t, memory, true)
			attack := stall(t, s.addr, connections, streams, path)
			await.Until(t, func() bool { return attack.answered() == connections*streams })
			s.useful()
			attack.close()
			s.recovers()
			s.bounded()
		})
	}
	f("distinct", func(c, s int) string { return target("kept", mib, name(c, s)) })
	f("medium", func(c, s int) string { return target("kept", 200_000, name(c, s)) })
	f("shared", func(int, int) string { return target("kept", mib, "one") })
	f("passed", func(c, s int) string { return target("passed", mib, name(c, s)) })
	f("chunked", func(c, s int) string { return target("chunked", mib, name(c, s)) })
}

// Slow readers of large objects take no more memory than the configuration allows, and
// keep no other client from its answers.
func TestSlowReaders(t *testing.T) {
	const clients, memory, pace = 1500, 64, 2 << 10
	f := func(kind string) {
		t.Run(kind, func(t *testing.T) {
			s := start(t, memory, false)
			attack := read(t, s.addr, clients, pace, func(c int) string { return target(kind, 3_000_000, fmt.Sprint(c)) })
			await.Until(t, func() bool { return attack.begun.Load()+attack.ended.Load() >= clients })
			for range 3 { // while the readers continue
				s.useful()
				<-time.After(time.Second)
			}
			attack.close()
			s.recovers()
			s.bounded()
		})
	}
	f("kept")
	f("passed")
	f("chunked")
}
