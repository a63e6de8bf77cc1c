package store

import "github.com/kasoku/kasoku/internal/cache"

// Purge takes what p says out of reach, or marks it as stale. When it has
// returned, no look-up finds what was stored before, or finds it stale; no fill
// that began before is kept as if it were new; and nobody joins one. An error that
// is not about p says that something on disk may come back after a restart.
func (s *Store) Purge(p Purge) error {
	if err := p.valid(); err != nil {
		return err
	}
	switch {
	case p.URL != "":
		key, err := ParseURL(p.URL)
		if err != nil {
			return err
		}
		return s.PurgeKey(key, p.Soft)
	case p.Tag != "":
		s.purges.addTag(p.Tag, p.Soft)
	case p.All:
		s.purges.addAll(p.Soft)
	case p.Prefix != "":
		return s.purgeScope(p.Prefix, true, p.Soft)
	default:
		return s.purgeScope(p.Pattern, false, p.Soft)
	}
	s.stats.purges.Add(1)
	return s.applyToWholeDisk()
}

// PurgeKey purges one URL by its primary key. An error says that something on disk
// may come back after a restart.
func (s *Store) PurgeKey(key []byte, soft bool) error {
	s.stats.purges.Add(1)
	if soft {
		s.purges.addURL(key)
	} else {
		s.space.Cache().Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{URLTag(key)}})
	}
	return s.applyToDisk(key)
}

func (s *Store) purgeScope(text string, prefix, soft bool) error {
	sc, err := parseScope(text, prefix)
	if err != nil {
		return err
	}
	if s.purges.addScope(sc, soft) >= sweepAt {
		s.sweepSoon()
	}
	s.stats.purges.Add(1)
	return s.applyToWholeDisk()
}

// Invalidate puts all variants under the keys out of reach, and fills that are
// under way: what an unsafe method's success does to its target. It is called
// before the client is answered.
func (s *Store) Invalidate(keys ...[]byte) {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByWrite, Tags: urlTags(keys)})
	_ = s.applyToDisk(keys...) // the tier has reported it
}

// Begin declares a write of keys before the origin is asked: what is stored is out of
// reach from now on, and what is read until the write's end is not kept. It must
// end with the Write's Commit or Unknown.
func (s *Store) Begin(keys ...[]byte) *cache.Write {
	w := s.space.Cache().Begin(urlTags(keys), nil)
	_ = s.applyToDisk(keys...) // the tier has reported it
	return w
}

func urlTags(keys [][]byte) []cache.Tag {
	tags := make([]cache.Tag, len(keys))
	for i, k := range keys {
		tags[i] = URLTag(k)
	}
	return tags
}
