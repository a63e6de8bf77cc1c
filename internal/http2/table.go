package http2

// entryOverhead is how much an entry of the dynamic table counts in addition to its text
// (RFC 7541, section 4.1).
const entryOverhead = 32

// tableSize is the size of the dynamic table that is allowed to the peer.
const tableSize = 4096

// dynamicTable is the dynamic table of a decoder. Its entries are in a ring, and their texts
// follow one another in a buffer of twice the table's size, so that they are moved to the
// front once for many insertions.
type dynamicTable struct {
	entries []entry // a ring; its length is a power of two
	first   int     // the oldest entry
	count   int
	text    []byte
	size    int // with the overhead of each entry
	limit   int // set by the peer
}

// entry is a field in the text of the table.
type entry struct{ at, name, value int }

// maxEntries is the maximum number of entries, and the length of the ring.
const maxEntries = tableSize / entryOverhead

// get returns entry i, counted from the newest, which is 0.
func (t *dynamicTable) get(i int) (name, value []byte, ok bool) {
	if i >= t.count {
		return nil, nil, false
	}
	e := &t.entries[(t.first+t.count-1-i)%maxEntries]
	return t.text[e.at : e.at+e.name], t.text[e.at+e.name : e.at+e.name+e.value], true
}

// resize sets the limit.
func (t *dynamicTable) resize(limit int) {
	t.limit = limit
	t.evict(0)
}

// evict removes the oldest entries until n more bytes are within the limit.
func (t *dynamicTable) evict(n int) {
	for t.count > 0 && t.size+n > t.limit {
		e := &t.entries[t.first]
		t.size -= e.name + e.value + entryOverhead
		t.first = (t.first + 1) % maxEntries
		t.count--
	}
}

// add inserts a field. One that is larger than the table empties it. The name and the value
// must not be slices of the table.
func (t *dynamicTable) add(name, value []byte) {
	n := len(name) + len(value) + entryOverhead
	t.evict(n)
	if n > t.limit {
		return
	}
	if t.text == nil {
		t.text = make([]byte, 0, 2*tableSize)
		t.entries = make([]entry, maxEntries)
	}
	if len(t.text)+len(name)+len(value) > cap(t.text) {
		t.compact()
	}
	t.entries[(t.first+t.count)%maxEntries] = entry{at: len(t.text), name: len(name), value: len(value)}
	t.text = append(append(t.text, name...), value...)
	t.count++
	t.size += n
}

// compact moves the texts to the front of the buffer.
func (t *dynamicTable) compact() {
	if t.count == 0 {
		t.text = t.text[:0]
		return
	}
	start := t.entries[t.first].at
	t.text = t.text[:copy(t.text, t.text[start:])]
	for i := range t.count {
		t.entries[(t.first+i)%maxEntries].at -= start
	}
}
