package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

// kasoku is a running Kasoku with a service for each use.
type kasoku struct {
	*proc.Process        // Addr is the service without signatures, before the counting origin
	signed        string // verifies signatures, before the counting origin
	store         string // before DynamoDB Local; empty without one
	admin         string
}

// service is what differs between the services of one configuration.
type service struct {
	name, listen, origin, auth string
	idle                       int // connections that it holds beside those of the scenarios
}

const (
	authNone   = "{mode: none}"
	authSigned = "{mode: sigv4, keys: [{id: " + dataset.AccessKey + ", secret_env: BENCH_SECRET, allow: [read, write]}]}"
)

// startKasoku starts a Kasoku before origin and, unless it is nil, dynamo.
func (l *lab) startKasoku(name string, memory string, origin, dynamo *proc.Process) (*kasoku, error) {
	var addrs [4]string
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return nil, err
		}
	}
	k := &kasoku{signed: addrs[1], admin: addrs[2]}
	services := []service{
		{name: "plain", listen: addrs[0], origin: origin.Addr, auth: authNone, idle: l.plan.idle},
		{name: "signed", listen: k.signed, origin: origin.Addr, auth: authSigned},
	}
	if dynamo != nil {
		k.store = addrs[3]
		services = append(services, service{name: "store", listen: k.store, origin: dynamo.Addr, auth: authNone})
	}
	file := filepath.Join(l.dir, name+".yaml")
	if err := os.WriteFile(file, configText(k.admin, memory, services), 0o600); err != nil {
		return nil, fmt.Errorf("configure %s: %w", name, err)
	}
	also := []string{k.signed, k.admin}
	if dynamo != nil {
		also = append(also, k.store)
	}
	var err error
	k.Process, err = l.start(proc.Command{
		Name: name, Addr: addrs[0], Also: also,
		Args: []string{l.kasoku, "serve", "-c", file},
		Env: []string{
			"AWS_ACCESS_KEY_ID=" + dataset.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dataset.SecretKey,
			"AWS_EC2_METADATA_DISABLED=true", "BENCH_SECRET=" + dataset.SecretKey,
		},
	})
	return k, err
}

// scenarioConns is how many connections a scenario may have beside idle ones. More would not
// fit the files that a process may open, since each may need another to the origin.
const scenarioConns = 2000

// configText is a kasoku.yaml whose entries outlive any measurement.
func configText(admin, memory string, services []service) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "admin: {listen: %q}\ncache: {memory: %s}\naccess_log: {to: none}\nservices:\n", admin, memory)
	for _, s := range services {
		fmt.Fprintf(&b, "  %s:\n    type: dynamodb\n    listen: %q\n    origin: %q\n    region: %s\n    auth: %s\n",
			s.name, s.listen, "http://"+s.origin, dataset.Region, s.auth)
		n := scenarioConns + s.idle
		fmt.Fprintf(&b, "    item_ttl: 1h\n    query_ttl: 1h\n    limits: {connections: %d, connections_per_client: %d, idle_timeout: 30m, unauthenticated_idle: 30m}\n", n, n)
	}
	return b.Bytes()
}

// metrics are the values of the admin page's /metrics that have no labels.
type metrics map[string]float64

func (k *kasoku) metrics() (metrics, error) {
	text, err := get(k.admin, "/metrics")
	if err != nil {
		return nil, err
	}
	m := metrics{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(line, "#") || strings.ContainsRune(name, '{') {
			continue
		}
		if m[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
	}
	return m, nil
}

// liveHeap waits for a collection that begins after now and returns the bytes
// that it found in use. Without one the runtime collects after two minutes;
// asking for the metrics leaves some garbage, which may bring it sooner.
func (l *lab) liveHeap(k *kasoku) (float64, error) {
	began := float64(time.Now().UnixMilli()) / 1000
	for {
		m, err := k.metrics()
		if err != nil {
			return 0, err
		}
		if m["go_memstats_last_gc_time_seconds"] > began {
			return live(m), nil
		}
		select {
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// live tells the heap that the last collection found in use from the goal it
// set for the next one, which is that times 1+GOGC/100. (The allocated bytes
// would count garbage that isn't swept yet.)
func live(m metrics) float64 {
	percent, ok := m["go_gc_gogc_percent"]
	if !ok {
		percent = 100
	}
	return m["go_memstats_next_gc_bytes"] / (1 + percent/100)
}
