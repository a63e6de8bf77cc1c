package main

import (
	"fmt"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const sizeScenario = "GetItem hit by size"

// perItemBound is an upper estimate of the memory of an item in bytes: the heap and garbage
// that is not collected yet.
const perItemBound = 2600

// measureSizes compares Kasoku with few and with many items.
func (l *lab) measureSizes() error {
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	var targets []target
	var caches []*kasoku
	var sizes []int
	for _, n := range l.plan.sizes {
		if !l.fits(n) {
			continue
		}
		k, err := l.filled(n, origin)
		if err != nil {
			return err
		}
		targets = append(targets, target{name: sizeName(n), addr: k.Addr, proc: k.Process, load: anyOf(n)})
		caches, sizes = append(caches, k), append(sizes, n)
	}
	if len(targets) == 0 {
		return nil
	}
	progress("%s", sizeScenario)
	before, err := originReads(origin)
	if err != nil {
		return err
	}
	samples, err := l.interleave(loadSpec{conns: 32, rounds: l.plan.rounds, round: l.plan.round}, targets)
	if err != nil {
		return err
	}
	after, err := originReads(origin)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("the origin received %d requests for items that should be cached", after-before)
	}
	progress("waiting for collections, to see the live heap: up to two minutes")
	heaps := make([]float64, len(caches))
	for i, k := range caches {
		if heaps[i], err = l.liveHeap(k); err != nil {
			return err
		}
	}
	for i, t := range targets {
		also := ""
		if i > 0 {
			overhead := overheadPerEntry(heaps[0], heaps[i], sizes[0], sizes[i])
			also = fmt.Sprintf("%.0f B an entry beside key and payload", overhead)
			l.report.overhead = max(l.report.overhead, overhead)
		}
		l.report.add(sizeScenario, t.name, targets[0].name, samples[i], samples[0], also)
	}
	return nil
}

// fits reports whether the machine has enough memory for n items.
func (l *lab) fits(n int) bool {
	available, err := proc.MemoryAvailable()
	if err == nil && available < int64(n)*perItemBound {
		l.report.note("%s are left out: they may need %d MiB, and %d are available", sizeName(n), int64(n)*perItemBound>>20, available>>20)
		return false
	}
	return true
}

// filled starts a Kasoku and fills its cache with n items.
func (l *lab) filled(n int, origin *proc.Process) (*kasoku, error) {
	k, err := l.startKasoku(fmt.Sprintf("kasoku-%d", n), "16GiB", origin, nil)
	if err != nil {
		return nil, err
	}
	progress("filling a cache with %s", sizeName(n))
	return k, l.fill(k.Addr, dataset.Mixed, n)
}

// overheadPerEntry returns the heap of an entry of the larger cache in excess of its key and
// payload, in bytes.
func overheadPerEntry(smallHeap, largeHeap float64, small, large int) float64 {
	content := 0
	for i := small; i < large; i++ {
		content += dataset.Mixed.ItemLen(i) + dataset.KeyLen
	}
	return (largeHeap - smallHeap - float64(content)) / float64(large-small)
}

func sizeName(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%d million items", n/1_000_000)
	default:
		return fmt.Sprintf("%d thousand items", n/1000)
	}
}
