package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// follower follows the database as CouchDB's clients do: by feeds of any form in sequence,
// each from where the last one ended.
type follower struct {
	only      string // a prefix of the documents' IDs
	since     string // "" before the first feed with since=now
	from      int    // all changes after this position must be received
	docs      map[string]int
	positions []int // the positions of all rows, in order
}

// query generates the next feed.
func (f *follower) query(r *rand.Rand) (form Form, query string) {
	form = Form(r.IntN(3))
	query = "feed=" + [...]string{"continuous", "longpoll", "eventsource"}[form] + "&since=" + f.since
	if f.only != "" {
		query += "&only=" + f.only
	}
	if r.IntN(2) == 0 {
		query += fmt.Sprint("&heartbeat=", 100+r.IntN(5000))
	} else {
		query += fmt.Sprint("&timeout=", 100+r.IntN(5000))
	}
	if r.IntN(4) == 0 {
		query += fmt.Sprint("&limit=", 1+r.IntN(5))
	}
	return form, query
}

// read applies the output of a feed.
func (f *follower) read(t *testing.T, form Form, text string) {
	text, _, _ = strings.Cut(text, "<")
	if form == Eventsource {
		for event := range strings.SplitSeq(text, "\n\n") {
			data, id, ok := strings.Cut(strings.TrimSpace(event), "\nid: ")
			if data = strings.TrimPrefix(data, "data: "); ok {
				f.row(t, data)
				f.since = strings.Trim(id, `"`)
			}
		}
		return
	}
	how := api.ContinuousFeed
	if form == Longpoll {
		how = api.NormalFeed
	}
	for r := api.NewFeedReader(strings.NewReader(text), how); ; {
		kind, object, err := r.Next()
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return
		case err != nil:
			t.Fatalf("%q: %v", text, err)
		case kind == api.ChangeEvent:
			f.row(t, string(object))
		case kind == api.EndEvent:
			var last struct {
				Seq string `json:"last_seq"`
			}
			if err := json.Unmarshal(object, &last); err != nil || last.Seq == "" {
				t.Fatalf("%q: %v", object, err)
			}
			f.since = last.Seq
		}
	}
}

func (f *follower) row(t *testing.T, text string) {
	var row struct {
		Seq, ID string
		Changes []struct{ Rev string }
	}
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !strings.HasPrefix(row.ID, f.only) {
		t.Fatalf("a follower of %q received %s", f.only, text)
	}
	var seq, born, rev int
	if _, err := fmt.Sscanf(row.Seq+" "+row.Changes[0].Rev, "%d-%d %d-x", &seq, &born, &rev); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	f.docs[row.ID] = born*1000000 + rev
	f.since = row.Seq
	f.positions = append(f.positions, born*1000000+seq)
}

// follow reads feeds until the context ends.
func (s *scene) follow(ctx context.Context, f *follower, seed uint64, faults bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		form, query := f.query(r)
		q, ok := ParseQuery(query, "")
		if !ok {
			s.Errorf("%s is not shared", query)
			return
		}
		feed, cancel := context.WithCancel(ctx)
		if r.IntN(3) == 0 {
			time.AfterFunc(time.Duration(r.IntN(8000))*time.Millisecond, cancel)
		}
		out := &fakeClient{gone: feed.Done()}
		if faults && r.IntN(3) == 0 {
			out.setStuck(true)
			time.AfterFunc(time.Duration(r.IntN(3000))*time.Millisecond, func() { out.setStuck(false) })
		}
		n := &session{feeds: s.feeds, query: &q, out: out, mayRead: func(context.Context) bool { return true }, arrived: time.Now()}
		if n.group = s.feeds.join(s.source(&q)); n.group != nil {
			n.run(feed, nil)
			s.feeds.leave(n.group)
		}
		cancel()
		f.read(s.T, form, out.takeOutput())
		time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond) // on the bubble's clock
	}
}

// TestModel runs followers that join and leave at random, on a database that changes, with a node
// that cuts feeds, repeats rows, becomes unreachable, and loses its database. In the end each
// follower has the newest state of everything that has changed since it joined. Without faults it
// received each row once and in order.
func TestModel(t *testing.T) {
	for seed := range uint64(race.Part(120)) {
		faults := seed%3 != 0
		t.Run(fmt.Sprint(seed), func(t *testing.T) { model(t, seed, faults) })
	}
}

func model(t *testing.T, seed uint64, faults bool) {
	r := rand.New(rand.NewPCG(seed, 2))
	cfg := Config{RingBytes: 200 + r.IntN(3000), PageRows: 1 + r.IntN(8), PageBytes: 100 + r.IntN(2000), MaxPages: 1 + r.IntN(3), Linger: time.Duration(r.IntN(4000)) * time.Millisecond}
	play(t, cfg, func(s *scene) {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		var all []*follower
		for step := range 150 {
			if step < 100 && r.IntN(8) == 0 {
				f := &follower{only: []string{"", "a", "b"}[r.IntN(3)], docs: map[string]int{}, since: "0"}
				if r.IntN(2) == 0 {
					// A position, rather than "now": feeds may end before they have sent one.
					s.set(func() { f.since, f.from = s.token(s.seq), s.born*1000000+s.seq })
				}
				all = append(all, f)
				wg.Go(func() { s.follow(ctx, f, seed<<16+uint64(step), faults) })
			}
			s.put([]string{"a", "b", "ab", "ba"}[r.IntN(4)] + fmt.Sprint(r.IntN(4)))
			if faults {
				s.misbehave(r)
			}
			time.Sleep(time.Duration(r.IntN(600)) * time.Millisecond)
		}
		s.set(func() { s.down, s.duplicate, s.rewind = false, false, 0 })
		s.pass(40 * time.Second)
		cancel()
		wg.Wait()
		s.set(func() {
			for i, f := range all {
				s.compare(i, f, faults)
			}
			if s.maxOpen > 1 {
				t.Errorf("got %d concurrent feeds of one kind", s.maxOpen)
			}
		})
	})
}

func (s *scene) misbehave(r *rand.Rand) {
	switch r.IntN(30) {
	case 0, 1, 2:
		s.breakOff()
	case 3:
		s.set(func() { s.down = !s.down })
		s.breakOff()
	case 4, 5, 6:
		s.set(func() { s.down = false })
	case 7:
		s.set(func() { s.duplicate = !s.duplicate })
	case 8:
		s.set(func() { s.rewind = r.IntN(6) })
		s.breakOff()
	case 9:
		if r.IntN(4) == 0 {
			s.drop(true)
		}
	}
}

// compare checks a follower's state.
func (s *scene) compare(i int, f *follower, faults bool) {
	for id, c := range s.docs {
		if at := s.born*1000000 + c.seq; at > f.from && strings.HasPrefix(id, f.only) && f.docs[id] != s.born*1000000+c.rev {
			s.Errorf("follower %d of %q since %d: document %s: got %d, want %d", i, f.only, f.from, id, f.docs[id], s.born*1000000+c.rev)
		}
	}
	for j := 1; j < len(f.positions) && !faults; j++ {
		if f.positions[j] <= f.positions[j-1] {
			s.Errorf("follower %d of %q: got the position %d after %d", i, f.only, f.positions[j], f.positions[j-1])
		}
	}
}
