package store

import "github.com/kasoku/kasoku/internal/cache"

// Purge invalidates the responses that p matches, or marks them as stale. When it has
// returned, no look-up finds older ones, or it finds them stale; no fill that began before
// is stored as new; and no request joins one. An error that is not about p means that
// responses on disk may be back after a restart.
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

// PurgeKey purges one URL by its primary key. An error means that responses on disk may be
// back after a restart.
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

// Invalidate invalidates all variants under keys, and fills in progress, as the success of
// an unsafe method does. It is called before the client is answered.
func (s *Store) Invalidate(keys ...[]byte) {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByWrite, Tags: urlTags(keys)})
	_ = s.applyToDisk(keys...) // the tier logs it
}

// Begin declares a write of keys before the origin is asked: stored responses are invalid
// from now on, and responses read before the end of the write are not stored. It must be
// ended with the Write's Commit or Unknown.
func (s *Store) Begin(keys ...[]byte) *cache.Write {
	w := s.space.Cache().Begin(urlTags(keys), nil)
	_ = s.applyToDisk(keys...) // the tier logs it
	return w
}

func urlTags(keys [][]byte) []cache.Tag {
	tags := make([]cache.Tag, len(keys))
	for i, k := range keys {
		tags[i] = URLTag(k)
	}
	return tags
}
