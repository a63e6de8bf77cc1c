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

// kasoku is a running Kasoku with a service for each purpose.
type kasoku struct {
	*proc.Process        // Addr is the service without signatures, in front of the counting origin
	signed        string // service that verifies signatures, in front of the counting origin
	store         string // service in front of DynamoDB Local; empty without one
	admin         string
}

// service is the part of a configuration that differs between services.
type service struct {
	name, listen, origin, auth string
	idle                       int // connections in addition to those of the scenarios
}

const (
	authNone   = "{mode: none}"
	authSigned = "{mode: sigv4, keys: [{id: " + dataset.AccessKey + ", secret_env: BENCH_SECRET, allow: [read, write]}]}"
)

// startKasoku starts a Kasoku in front of origin and, unless it is nil, dynamo.
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

// scenarioConns is the number of connections that a scenario may use in addition to idle
// ones. More would exceed the limit on open files, because each may need one to the origin.
const scenarioConns = 2000

// configText returns a kasoku.yaml whose entries do not expire during a measurement.
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

// metrics are the values without labels in /metrics.
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

// liveHeap waits for a garbage collection that begins after now and returns the live bytes
// that it found. Without allocations the runtime collects every two minutes; requests for
// the metrics produce garbage, which may start one sooner.
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

// live computes the live heap of the last collection from the heap goal for the next one,
// which is that times 1+GOGC/100. (The allocated bytes would include garbage that is not
// swept yet.)
func live(m metrics) float64 {
	percent, ok := m["go_gc_gogc_percent"]
	if !ok {
		percent = 100
	}
	return m["go_memstats_next_gc_bytes"] / (1 + percent/100)
}
