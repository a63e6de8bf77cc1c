package lists

// batch is new lists that go to the file together, so that they share one sync.
type batch struct {
	lists   map[uint64]*list
	records []byte
	done    chan struct{}
	err     error // once done is closed
}

// add puts a new list into the file. The first who finds no batch writes the one that it
// makes, as soon as the one before is written: those who come meanwhile wait for it.
func (r *Registry) add(id uint64, names [][]byte, encoded []byte) (uint64, error) {
	r.mu.Lock()
	if l := r.find(id); l != nil {
		r.mu.Unlock()
		return l.check(names)
	}
	b, leads := r.next, false
	if b == nil {
		b, leads = &batch{lists: map[uint64]*list{}, done: make(chan struct{})}, true
		r.next = b
	}
	l := b.lists[id]
	switch {
	case l != nil && !l.is(names):
		r.mu.Unlock()
		return 0, ErrCollision // leads is false: the other one's batch is not empty
	case l == nil && r.Len()+len(b.lists) >= r.max:
		r.abandon(b, leads)
		return 0, ErrFull
	case l == nil:
		l = &list{id: id, names: make([]string, len(names))}
		for i, n := range names {
			l.names[i] = string(n)
		}
		b.lists[id] = l
		b.records = appendRecord(b.records, encoded)
	}
	r.mu.Unlock()
	if leads {
		r.write(b)
	}
	<-b.done
	return id, b.err
}

// abandon lets go of a batch that has nothing in it, and of r.mu.
func (r *Registry) abandon(b *batch, leads bool) {
	if leads {
		r.next = nil
	}
	r.mu.Unlock()
}

// write takes a batch to the file, and then lets its lists be found.
func (r *Registry) write(b *batch) {
	defer close(b.done)
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	if b.err = r.file.append(b.records); b.err != nil {
		return
	}
	for _, l := range b.lists {
		r.publish(l)
	}
}
