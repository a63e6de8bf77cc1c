package lists

// batch is new lists that go to the file together, so that they share one sync.
type batch struct {
	lists   map[uint64]*list
	encoded [][]byte
	bytes   int64 // of encoded
	done    chan struct{}
	err     error // once done is closed
}

// add puts a new list into the file. The first who finds no batch writes the one that it
// makes, as soon as the one before is written: those who come meanwhile wait for it.
// encoded is kept.
func (r *Registry) add(id uint64, names [][]byte, encoded []byte) (uint64, error) {
	r.mu.Lock()
	l, b := r.pending(id)
	switch {
	case l != nil && !l.is(names):
		r.mu.Unlock()
		return 0, ErrCollision
	case l != nil && b == nil:
		r.mu.Unlock()
		return id, nil
	case l != nil:
		r.mu.Unlock()
		<-b.done
		return id, b.err
	case r.used.lists >= r.max || r.used.bytes+int64(len(encoded)) > r.max*averageBytes:
		r.mu.Unlock()
		return 0, ErrFull
	}
	leads := r.next == nil
	if leads {
		r.next = &batch{lists: map[uint64]*list{}, done: make(chan struct{})}
	}
	b = r.next
	b.add(newList(id, names), encoded)
	r.used.add(1, int64(len(encoded)))
	r.mu.Unlock()
	if leads {
		r.write(b)
	}
	<-b.done
	return id, b.err
}

// pending finds a list, with its batch if that is not on disk yet. r.mu is held.
func (r *Registry) pending(id uint64) (*list, *batch) {
	for _, b := range []*batch{r.flying, r.next} {
		if b != nil && b.lists[id] != nil {
			return b.lists[id], b
		}
	}
	return r.find(id), nil
}

func (b *batch) add(l *list, encoded []byte) {
	b.lists[l.id] = l
	b.encoded = append(b.encoded, encoded)
	b.bytes += int64(len(encoded))
}

// write takes a batch to the file, and then lets its lists be found.
func (r *Registry) write(b *batch) {
	defer close(b.done)
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	r.next, r.flying = nil, b
	r.mu.Unlock()
	if b.err = r.file.write(b.encoded); b.err == nil {
		for _, l := range b.lists {
			r.publish(l)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying = nil
	if b.err != nil {
		r.used.add(-len(b.lists), -b.bytes)
	}
	r.warn()
}

// warn tells once that there will soon be no room.
func (r *Registry) warn() {
	if r.warned || r.used.lists < r.max-r.max/10 && r.used.bytes < (r.max-r.max/10)*averageBytes {
		return
	}
	r.warned = true
	r.log.Warn("nine tenths of the lists of attributes that may be are there; attributes whose names are data make a new one for each item",
		"lists", r.used.lists, "bytes", r.used.bytes, "most", r.max)
}

// usage is how much is numbered, or about to be.
type usage struct{ lists, bytes int64 }

func (u *usage) add(lists int, bytes int64) {
	u.lists += int64(lists)
	u.bytes += bytes
}
