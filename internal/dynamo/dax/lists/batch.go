package lists

// batch is new lists that go to the file together, so that they share one sync.
type batch struct {
	lists   map[uint64]*list
	records [][]byte
	done    chan struct{}
	err     error // once done is closed
}

// add puts a new list into the file. The first who finds no batch writes the one that it
// makes, as soon as the one before is written: those who come meanwhile wait for it.
func (r *Registry) add(id uint64, names [][]byte, encoded []byte, by Owner) (uint64, error) {
	r.mu.Lock()
	l, b := r.pending(id)
	switch {
	case l != nil && !l.hasNames(names):
		r.mu.Unlock()
		return 0, ErrCollision
	case l != nil && b == nil:
		r.mu.Unlock()
		return id, nil
	case l != nil:
		r.mu.Unlock()
		<-b.done
		return id, b.err
	}
	if err := r.admit(by, int64(len(encoded))); err != nil {
		r.mu.Unlock()
		return 0, err
	}
	leads := r.queued == nil
	if leads {
		r.queued = &batch{lists: map[uint64]*list{}, done: make(chan struct{})}
	}
	b = r.queued
	l = newList(id, names, string(by.Key))
	b.lists[id] = l
	b.records = append(b.records, appendBody(nil, l.owner, encoded))
	r.charge(l, 1)
	r.warn(by)
	r.mu.Unlock()
	if leads {
		r.write(b)
	}
	<-b.done
	return id, b.err
}

// pending finds a list, with its batch if that is not on disk yet. r.mu is held.
func (r *Registry) pending(id uint64) (*list, *batch) {
	for _, b := range []*batch{r.inFlight, r.queued} {
		if b != nil && b.lists[id] != nil {
			return b.lists[id], b
		}
	}
	return r.find(id), nil
}

// write takes a batch to the file, and then lets its lists be found.
func (r *Registry) write(b *batch) {
	defer close(b.done)
	r.fileMu.Lock()
	defer r.fileMu.Unlock()
	r.mu.Lock()
	r.queued, r.inFlight = nil, b
	r.mu.Unlock()
	if b.err = r.file.write(b.records); b.err == nil {
		for _, l := range b.lists {
			r.publish(l)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight = nil
	if b.err != nil {
		for _, l := range b.lists {
			r.charge(l, -1)
		}
	}
}

// warn logs once that there will soon be no room, for anyone or for one key. r.mu is held.
func (r *Registry) warn(by Owner) {
	if !r.warned && r.used.nearlyFull(r.max) {
		r.warned = true
		r.log.Warn("nine tenths of the lists of attributes that may be are there; attributes whose names are data make a new one for each item",
			"lists", r.used.lists, "bytes", r.used.bytes, "most", r.max)
	}
	if a := r.account(string(by.Key)); by.Keys > 1 && !a.warned && a.nearlyFull(r.share(by)) {
		a.warned = true
		r.log.Warn("an access key has had nine tenths of its share of the lists of attributes numbered; attributes whose names are data make a new one for each item",
			"key", string(by.Key), "lists", a.lists, "bytes", a.bytes, "most", r.share(by))
	}
}

// usage is how much is numbered, or about to be.
type usage struct{ lists, bytes int64 }

// charge counts a list, or with -1 no longer, in total and for its owner. r.mu is held, except
// while the file is opened.
func (r *Registry) charge(l *list, n int64) {
	for _, u := range []*usage{&r.used, &r.account(l.owner).usage} {
		u.lists += n
		u.bytes += n * l.bytes()
	}
}
