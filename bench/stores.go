package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	nameEmbedded = "kasoku, embedded"

	storeGet   = "GetItem from a store"
	storePut   = "PutItem into a store"
	storeQuery = "Query of 25 items from a store"

	memoryScenario = "items in a store"
)

// storeScenarios returns the scenarios for stores: DynamoDB Local in memory, and Kasoku's
// own on disk, behind an accelerator that caches nothing. compareStores makes the targets.
func storeScenarios() []scenario {
	return []scenario{
		{name: storeGet, conns: 64, traffic: recordGets},
		{name: storePut, conns: 64, traffic: recordPuts},
		{name: storeQuery, conns: 64, traffic: recordQueries},
	}
}

// startEmbedded starts a Kasoku with a store of its own in a new directory.
func (l *lab) startEmbedded(name string) (p *proc.Process, dir string, err error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	if dir, err = os.MkdirTemp(l.dir, name+"-data-"); err != nil {
		return nil, "", err
	}
	file := filepath.Join(l.dir, name+".yaml")
	if err := os.WriteFile(file, embeddedText(addr, dir), 0o600); err != nil {
		return nil, "", fmt.Errorf("configure %s: %w", name, err)
	}
	p, err = l.start(proc.Command{Name: name, Addr: addr, Args: []string{l.kasoku, "serve", "-c", file}})
	return p, dir, err
}

// embeddedText returns a kasoku.yaml with a store whose items are never cached.
func embeddedText(addr, dir string) []byte {
	return fmt.Appendf(nil, `access_log: {to: none}
services:
  store:
    type: dynamodb
    listen: %q
    origin: %q
    auth: {mode: none}
    item_ttl: 0s
    query_ttl: 0s
    negative_ttl: 0s
`, addr, "embedded:"+dir)
}

// compareStores measures the two stores with the same records.
func (l *lab) compareStores() error {
	dynamo, err := l.launchDynamo("1g")
	if errors.Is(err, errNoDynamo) {
		l.report.note("stores are not compared: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	embedded, _, err := l.startEmbedded("embedded")
	if err != nil {
		return err
	}
	stores := []target{{name: nameDynamo, addr: dynamo.Addr, proc: dynamo}, {name: nameEmbedded, addr: embedded.Addr, proc: embedded}}
	for _, t := range stores {
		progress("filling %s with %d records", t.name, l.plan.items)
		if err := l.load(t.addr, dataset.CreateRecords(), l.plan.items, dataset.AppendRecordBatch); err != nil {
			return err
		}
		if err := probeRecords(t.addr, l.plan.items); err != nil {
			return fmt.Errorf("answers differ: %w", err)
		}
	}
	for _, c := range chosen(storeScenarios(), "stores", l.only) {
		hot := stores[0]
		if hot.load, err = c.traffic(l.plan.items); err != nil {
			return err
		}
		if _, err := l.measure(loadSpec{conns: c.conns, round: l.plan.jit}, hot); err != nil {
			return err
		}
		if err := l.contest(c, stores, nil); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// storeBound is an upper estimate of the memory of a record in either store, in bytes.
const storeBound = 8 << 10

// measureMemory fills both stores and reports their memory.
func (l *lab) measureMemory() error {
	n := l.plan.stored
	if available, err := proc.MemoryAvailable(); err == nil && available < int64(n)*storeBound {
		l.report.note("the memory of stores with %d items is not measured: that may need %d MiB, and %d are available", n, int64(n)*storeBound>>20, available>>20)
		return nil
	}
	dynamo, err := l.launchDynamo("6g")
	if errors.Is(err, errNoDynamo) {
		l.report.note("the memory of stores is not compared: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	reference, err := l.filledStore(target{name: nameDynamo, addr: dynamo.Addr, proc: dynamo}, n)
	if err != nil {
		return err
	}
	scenario := fmt.Sprintf("%d %s", n, memoryScenario)
	l.report.add(scenario, nameDynamo, nameDynamo, reference, reference, "in memory")
	l.stopAll()
	embedded, dir, err := l.startEmbedded("embedded")
	if err != nil {
		return err
	}
	samples, err := l.filledStore(target{name: nameEmbedded, addr: embedded.Addr, proc: embedded}, n)
	if err != nil {
		return err
	}
	disk, err := sizeOf(dir)
	if err != nil {
		return err
	}
	l.report.add(scenario, nameEmbedded, nameDynamo, samples, reference, fmt.Sprintf("%d MiB on disk", disk>>20))
	l.report.memory = samples[0][rss] / reference[0][rss]
	return nil
}

// filledStore stores n records over several connections, and returns the memory of the store
// after a few reads.
func (l *lab) filledStore(t target, n int) ([]sample, error) {
	progress("filling %s with %d records", t.name, n)
	if err := l.load(t.addr, dataset.CreateRecords(), n, dataset.AppendRecordBatch); err != nil {
		return nil, err
	}
	if err := probeRecords(t.addr, n); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	bytes, err := t.proc.RSS()
	if err != nil {
		return nil, err
	}
	var s sample
	s[rss] = float64(bytes)
	return []sample{s}, nil
}

// sizeOf returns the size of the files below dir.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed by a compaction
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return bytes, err
}
