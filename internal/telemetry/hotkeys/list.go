package hotkeys

import (
	"cmp"
	"slices"
)

const (
	// counts is the number of keys of a list.
	counts = 128
	// places is the number of places of a list's hash table. It is a power of two.
	places = 2 * counts
	// maxText is the length after which the text of a key is cut off.
	maxText = 256
)

// list has the keys of a shard with the highest counts of one metric, by Space-Saving.
type list struct {
	total   uint64 // of all keys
	entries []entry
	heap    []uint8       // indexes of entries; none has a lower count than the one at half its place
	index   [places]uint8 // index of an entry and 1, by hash; 0: empty. Collisions use the next place
}

// entry is a key with its count. The sum of the samples is between count-excess and count.
type entry struct {
	hash   uint64
	count  uint64
	excess uint64
	// variance is that of the estimate from samples, in squares of the metric.
	variance float64
	text     []byte
	place    uint8 // in the heap
}

// add adds a sample with the value n, which is counted weight times.
func (l *list) add(hash uint64, text []byte, n, weight uint64) {
	l.total += n * weight
	i, ok := l.find(hash)
	switch {
	case ok:
	case len(l.entries) < counts:
		i = len(l.entries)
		l.entries = append(l.entries, entry{hash: hash, place: uint8(len(l.heap))})
		l.heap = append(l.heap, uint8(i))
		l.entries[i].setText(text)
		l.insert(hash, i)
		l.rise(i)
	default:
		i = int(l.heap[0])
		e := &l.entries[i]
		l.remove(e.hash)
		e.hash, e.excess, e.variance = hash, e.count, 0
		e.setText(text)
		l.insert(hash, i)
	}
	e := &l.entries[i]
	e.count += n * weight
	e.variance += float64(n) * float64(n) * float64(weight*(weight-1))
	l.sink(i)
}

// setText copies the text, in the memory of the one before.
func (e *entry) setText(text []byte) { e.text = append(e.text[:0], text[:min(len(text), maxText)]...) }

// find returns the index of the entry with a hash.
func (l *list) find(hash uint64) (i int, ok bool) {
	for p := hash % places; l.index[p] != 0; p = (p + 1) % places {
		if i = int(l.index[p]) - 1; l.entries[i].hash == hash {
			return i, true
		}
	}
	return 0, false
}

func (l *list) insert(hash uint64, i int) {
	p := hash % places
	for l.index[p] != 0 {
		p = (p + 1) % places
	}
	l.index[p] = uint8(i + 1)
}

// remove removes a hash that is there, and moves the following ones so that they are found.
func (l *list) remove(hash uint64) {
	p := hash % places
	for l.entries[l.index[p]-1].hash != hash {
		p = (p + 1) % places
	}
	for next := (p + 1) % places; l.index[next] != 0; next = (next + 1) % places {
		home := l.entries[l.index[next]-1].hash % places
		if (next-home)%places >= (next-p)%places {
			l.index[p] = l.index[next]
			p = next
		}
	}
	l.index[p] = 0
}

// sink restores the order of the heap after the count of an entry has grown.
func (l *list) sink(i int) {
	for p := int(l.entries[i].place); ; {
		child := 2*p + 1
		if child >= len(l.heap) {
			return
		}
		if child+1 < len(l.heap) && l.entries[l.heap[child+1]].count < l.entries[l.heap[child]].count {
			child++
		}
		if l.entries[l.heap[child]].count >= l.entries[i].count {
			return
		}
		l.swap(p, child)
		p = child
	}
}

// rise restores the order of the heap after an entry was added at its end.
func (l *list) rise(i int) {
	for p := int(l.entries[i].place); p > 0; {
		parent := (p - 1) / 2
		if l.entries[l.heap[parent]].count <= l.entries[i].count {
			return
		}
		l.swap(p, parent)
		p = parent
	}
}

func (l *list) swap(p, q int) {
	l.heap[p], l.heap[q] = l.heap[q], l.heap[p]
	l.entries[l.heap[p]].place, l.entries[l.heap[q]].place = uint8(p), uint8(q)
}

// floor returns the highest count that a key without an entry may have.
func (l *list) floor() uint64 {
	if len(l.entries) < counts {
		return 0
	}
	return l.entries[l.heap[0]].count
}

// merged returns a list with the counts of both, which it does not change. A key that one of them
// lacks may have had its floor.
func merged(a, b *list) *list {
	all := slices.Clone(a.entries)
	floorA, floorB := a.floor(), b.floor()
	for i := range all {
		e, count, excess, variance := &all[i], floorB, floorB, 0.0
		if j, ok := b.find(e.hash); ok {
			count, excess, variance = b.entries[j].count, b.entries[j].excess, b.entries[j].variance
		}
		e.count, e.excess, e.variance = e.count+count, e.excess+excess, e.variance+variance
	}
	for _, e := range b.entries {
		if _, ok := a.find(e.hash); !ok {
			e.count, e.excess = e.count+floorA, e.excess+floorA
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(b.count, a.count) })
	l := &list{total: a.total + b.total, entries: slices.Clip(all[:min(len(all), counts)])}
	for i := range l.entries {
		// In the reverse order of the counts, which is a heap.
		l.entries[i].place = uint8(len(l.entries) - 1 - i)
		l.insert(l.entries[i].hash, i)
	}
	for i := range slices.Backward(l.entries) {
		l.heap = append(l.heap, uint8(i))
	}
	return l
}
