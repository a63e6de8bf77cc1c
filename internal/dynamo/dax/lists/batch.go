package lists

// batch is a group of new lists that are written to the file together and share one sync.
type batch struct {
	lists   map[uint64]*list
	records [][]byte
	done    chan struct{}
	err     error // valid when done is closed
}

// add adds a new list to the file. A caller that finds no batch creates one and writes it
// after the previous one is written; callers that arrive in the meantime join it and wait.
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

// pending returns a list, with its batch if that isn't on disk yet. r.mu must be held.
func (r *Registry) pending(id uint64) (*list, *batch) {
	for _, b := range []*batch{r.inFlight, r.queued} {
		if b != nil && b.lists[id] != nil {
			return b.lists[id], b
		}
	}
	return r.find(id), nil
}

// write writes a batch to the file, and then publishes its lists.
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

// warn logs once when the registry is nearly full, in total or for one key. r.mu must be
// held.
func (r *Registry) warn(by Owner) {
	if !r.warned && r.used.nearlyFull(r.max) {
		r.warned = true
		r.log.Warn("nine tenths of the permitted attribute lists are in use; attributes whose names are data create a new list for each item",
			"lists", r.used.lists, "bytes", r.used.bytes, "most", r.max)
	}
	if a := r.account(string(by.Key)); by.Keys > 1 && !a.warned && a.nearlyFull(r.share(by)) {
		a.warned = true
		r.log.Warn("an access key has used nine tenths of its share of the attribute lists; attributes whose names are data create a new list for each item",
			"key", string(by.Key), "lists", a.lists, "bytes", a.bytes, "most", r.share(by))
	}
}

// usage is the number and size of lists, including pending ones.
type usage struct{ lists, bytes int64 }

// charge adds n (1 or -1) times a list to the total usage and to its owner's. r.mu must be
// held, except while the file is opened.
func (r *Registry) charge(l *list, n int64) {
	for _, u := range []*usage{&r.used, &r.account(l.owner).usage} {
		u.lists += n
		u.bytes += n * l.bytes()
	}
}
