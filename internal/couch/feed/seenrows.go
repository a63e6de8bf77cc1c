package feed

import (
	"slices"
	"time"
)

// seenTime is how long after a page the rows in it are skipped in the ring. Rows that arrive
// later are sent twice.
const seenTime = 5 * time.Second

// remember records the newest rows of a page.
func (s *session) remember(rows []row) {
	s.forgetAt = time.Now().Add(seenTime)
	for i := range rows {
		s.seen = append(s.seen, rows[i].hash)
	}
	if limit := s.feeds.cfg.PageRows; len(s.seen) > limit {
		s.seen = append([]uint64(nil), s.seen[len(s.seen)-limit:]...)
	}
}

// fresh removes the rows that were in a page.
func (s *session) fresh(rows []row) []row {
	if len(s.seen) == 0 {
		return rows
	}
	if time.Now().After(s.forgetAt) {
		s.seen = nil
		return rows
	}
	return slices.DeleteFunc(rows, func(r row) bool { return slices.Contains(s.seen, r.hash) })
}
