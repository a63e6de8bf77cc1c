package memcached

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// ringKeys is the number of keys that a writer sets in each setting.
const ringKeys = 10_000

// setting is one setting in the configuration of a writer and of Kasoku.
type setting struct {
	name         string
	weights      []float64 // of the servers; 0: no weight is configured
	points       int
	namespace    string
	distribution string
	nameHashed   bool
}

var settings = []setting{
	{name: "150 points", weights: make([]float64, 3), points: 150, distribution: "{name: cmf-ketama, points: 150}"},
	{name: "150 points, namespace", weights: make([]float64, 3), points: 150, namespace: "testapp::", distribution: "{name: cmf-ketama, points: 150}"},
	{name: "150 points, namespace hashed", weights: make([]float64, 3), points: 150, namespace: "testapp::", nameHashed: true,
		distribution: "{name: cmf-ketama, points: 150, hash_namespace: true}"},
	{name: "150 points, fractional weights", weights: []float64{2.5, 1, 0.5}, points: 150, distribution: "{name: cmf-ketama, points: 150}"},
	{name: "150 points, five servers", weights: make([]float64, 5), points: 150, distribution: "{name: cmf-ketama, points: 150}"},
	{name: "no points", weights: make([]float64, 3), distribution: "crc-buckets"},
	{name: "no points, namespace", weights: make([]float64, 3), namespace: "testapp::", distribution: "crc-buckets"},
	{name: "no points, weights", weights: []float64{1, 2, 3}, namespace: "testapp::", distribution: "crc-buckets"},
	{name: "no points, five servers", weights: make([]float64, 5), distribution: "crc-buckets"},
}

// TestRingOfPerl stores values on real servers with Perl's Cache::Memcached::Fast. For each key
// `kasoku ring` must print the server that holds it, and the service must find the value.
func TestRingOfPerl(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			servers := StartMany(t, len(s.weights))
			items, sevenths := map[string]string{}, map[string]string{}
			for i, key := range keysToHash() {
				items[key] = fmt.Sprintf(`{"key":%q}`, key)
				if i%7 == 0 { // a sample of all six kinds of keys
					sevenths[key] = items[key]
				}
			}
			WritePerl(t, s.client(servers), items)
			node := harness.Start(t, harness.Options{Type: "memcached", Origin: strings.Join(s.servers(servers), ", "), Service: s.service()})
			s.checkServers(t, node, servers, items)
			wantAllServed(t, node.URL, sevenths)
		})
	}
}

// client returns the setting as options of Perl's client.
func (s *setting) client(servers []*Server) Options {
	list := make([]any, len(servers))
	for i, server := range servers {
		list[i] = server.Addr
		if s.weights[i] != 0 {
			list[i] = Weighted{server.Addr, s.weights[i]}
		}
	}
	o := Options{"servers": list, "ketama_points": s.points, "namespace": s.namespace, "io_timeout": 20}
	if s.nameHashed {
		o["hash_namespace"] = 1
	}
	return o
}

// servers returns the setting's servers as written in a kasoku.yaml.
func (s *setting) servers(servers []*Server) []string {
	list := Addrs(servers)
	for i, weight := range s.weights {
		if weight != 0 {
			list[i] = fmt.Sprintf("{address: %s, weight: %g}", list[i], weight)
		}
	}
	return list
}

func (s *setting) service() []string {
	return append(slices.Clone(longTimeouts), "distribution: "+s.distribution, fmt.Sprintf("namespace: %q", s.namespace),
		"locations:", `  - {path: /value, key: "${arg.key}", key_decode: decoded, content_type: application/json}`)
}

// checkServers checks that each server holds the keys that `kasoku ring` assigns to it.
func (s *setting) checkServers(t *testing.T, node *harness.Node, servers []*Server, items map[string]string) {
	t.Helper()
	assigned := ringOf(t, node.Config(), items)
	wired := make([]string, 0, len(items))
	for key := range items {
		wired = append(wired, s.namespace+key)
	}
	misrouted, found := 0, 0
	for _, server := range servers {
		held := server.Held(t, wired...)
		for key := range held {
			if bare := strings.TrimPrefix(key, s.namespace); assigned[bare] != server.Addr {
				misrouted++
				t.Logf("%s is on %s; kasoku ring prints %s", bare, server.Addr, assigned[bare])
			}
		}
		found += len(held)
		t.Logf("%s holds %d keys", server.Addr, len(held))
	}
	if misrouted > 0 || found != len(items) {
		t.Errorf("got %d of %d keys on another server than kasoku ring prints, %d found on any", misrouted, len(items), found)
	}
}

// ringOf runs `kasoku ring` and returns the server of each key.
func ringOf(t *testing.T, config string, items map[string]string) map[string]string {
	t.Helper()
	binary, err := harness.Binary("")
	if err != nil {
		t.Fatal(err)
	}
	var input, errs bytes.Buffer
	for key := range items {
		fmt.Fprintln(&input, key)
	}
	cmd := exec.CommandContext(t.Context(), binary, "ring", "-c", config, "--json", "-")
	cmd.Stdin, cmd.Stderr = &input, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kasoku ring: %v\n%s", err, &errs)
	}
	servers := make(map[string]string, len(items))
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct{ Key, Server string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("kasoku ring prints %q: %v", lines.Text(), err)
		}
		servers[line.Key] = line.Server
	}
	return servers
}

// wantAllServed requests every key from a node, with a few clients in parallel.
func wantAllServed(t *testing.T, address string, items map[string]string) {
	t.Helper()
	const clients = 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	keys := make(chan string, len(items))
	for key := range items {
		keys <- key
	}
	close(keys)
	var wrong atomic.Int64
	var done sync.WaitGroup
	for range clients {
		done.Go(func() {
			for key := range keys {
				got, err := ask(t.Context(), client, "GET", address+"/value?key="+url.QueryEscape(key))
				if err == nil && got.status == http.StatusOK && got.body == items[key] {
					continue
				}
				if wrong.Add(1) < 4 {
					t.Errorf("%s: got %+v, %v", key, got, err)
				}
			}
		})
	}
	done.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d keys were not answered with their values", n, len(items))
	}
}

// keysToHash returns keys as applications make them: short pairs, paths, identifiers, text
// of other scripts, bytes that URLs escape, and long ones. They are the same in each run.
func keysToHash() []string {
	dice := rand.New(rand.NewPCG(2009, 10))
	keys := make([]string, ringKeys)
	for i := range keys {
		switch i % 6 {
		case 0:
			keys[i] = fmt.Sprintf("%d::%d", dice.IntN(1000), i)
		case 1:
			keys[i] = fmt.Sprintf("/entry/%d/comments?page=%d&n=%d", i, dice.IntN(50), dice.IntN(9))
		case 2:
			keys[i] = fmt.Sprintf("%016x-%08x-%d", dice.Uint64(), dice.Uint32(), i)
		case 3:
			keys[i] = fmt.Sprintf("利用者:%d:日記%d", dice.IntN(1000), i)
		case 4:
			keys[i] = fmt.Sprintf("50%%+%x%%20%d~!*'();:@&=$,[]", dice.Uint32(), i)
		case 5:
			keys[i] = strings.Repeat("long.", 20+dice.IntN(20)) + fmt.Sprint(i)
		}
	}
	return keys
}
