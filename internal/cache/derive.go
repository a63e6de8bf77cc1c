package cache

import "unsafe"

// Derive stores payload under key as another form of the entry of: it depends on the same
// generations and is fresh for as long, and Derived finds it for as long as it belongs to
// the entry that is stored. It weighs like any entry. It tells whether of was still good.
func (s *Space) Derive(of *Entry, key, payload []byte) bool {
	if !s.cache.stand(&of.slots, &of.gens, of.tags()) {
		return false
	}
	data := make([]byte, 0, len(key)+len(payload))
	data = append(append(data, key...), payload...)
	e := &Entry{
		data: unsafe.String(unsafe.SliceData(data), len(data)), gens: of.gens, slots: of.slots, freshUntil: of.freshUntil,
		aux: of.aux, keyLen: uint32(len(key)), space: s.id, ntags: of.tags(), kind: of.kind,
	}
	s.store.otter.Set(s.hash(key), e)
	s.cache.stats.stored.Add(1)
	return true
}

// Derived finds the form of an entry that was stored under key, nil if there is none, or
// it was made of an entry that another has replaced since. of has just been looked up.
func (s *Space) Derived(of *Entry, key []byte) *Entry {
	e, ok := s.store.otter.GetIfPresent(s.hash(key))
	if !ok || e.space != s.id || e.key() != string(key) ||
		e.freshUntil != of.freshUntil || e.aux != of.aux || e.gens != of.gens || e.slots != of.slots {
		return nil
	}
	return e
}
