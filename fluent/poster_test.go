package fluent

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"github.com/kasoku/kasoku/fluent/internal/encode"
)

// keeper is a poster that keeps the posted records.
type keeper struct {
	t      testing.TB
	mu     sync.Mutex
	tags   []string
	times  []time.Time
	bodies [][]byte
	refuse int // how many posts to refuse before taking any
}

var errRefused = errors.New("refused")

func (s *keeper) PostWithTime(tag string, at time.Time, record any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return errRefused
	}
	b, err := encode.AppendRecord(nil, record)
	if err != nil {
		return err
	}
	s.tags, s.times, s.bodies = append(s.tags, tag), append(s.times, at), append(s.bodies, b)
	return nil
}

// take returns the records posted since the last call.
func (s *keeper) take() []string {
	s.t.Helper()
	var list []string
	for _, b := range s.bodies {
		list = append(list, decoded(s.t, b))
	}
	s.tags, s.times, s.bodies = nil, nil, nil
	return list
}

// discard is a poster that keeps nothing and allocates nothing.
type discard struct{ buf []byte }

func (d *discard) PostWithTime(_ string, _ time.Time, record any) error {
	p, err := record.(*Record).payload()
	d.buf = append(d.buf[:0], p...)
	return err
}

// joiner is a poster that joins the posted texts, and optionally refuses every other post.
type joiner struct {
	r       interface{ Fatal(...any) }
	text    strings.Builder
	longest int
	refuse  bool
	posts   int
}

func (j *joiner) PostWithTime(_ string, _ time.Time, record any) error {
	if j.posts++; j.refuse && j.posts%2 == 0 {
		return errRefused
	}
	p, err := record.(*Record).payload()
	if err != nil {
		j.r.Fatal(err)
	}
	m, _, err := msgp.ReadMapStrIntfBytes(p, nil)
	if err != nil {
		j.r.Fatal(err)
	}
	line := m["message"].(string)
	j.text.WriteString(line)
	j.longest = max(j.longest, len(line))
	return nil
}
