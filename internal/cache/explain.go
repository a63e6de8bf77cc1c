package cache

import (
	"fmt"
	"time"
)

// Generations tells for each tag what its counter says, in words.
func (c *Cache) Generations(tags ...Tag) []string {
	out := make([]string, len(tags))
	now := c.Now()
	for i, t := range tags {
		s := &c.slots[c.index(t)]
		gen := s.gen.Load()
		at := time.Duration(gen>>sequenceBits) * time.Millisecond
		switch age := time.Duration(now) - at; {
		case gen == 0:
			out[i] = "not written since the start"
		case age < 0:
			out[i] = fmt.Sprintf("in quarantine for %s more", (-age).Round(time.Millisecond))
		default:
			out[i] = fmt.Sprintf("last moved %s ago", age.Round(time.Millisecond))
		}
		if n := s.writers.Load(); n > 0 {
			out[i] += fmt.Sprintf("; %d writes in flight", n)
		}
	}
	return out
}

// Peek is Lookup for those who only want to know: it is not counted among the hits
// that start a refresh.
func (s *Space) Peek(key []byte, now int64) (*Entry, Found) { return s.find(key, now) }
