package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A list has the questions of all services in turn, or of one, in pages.
func TestHottestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t), &source{value: "x"}
		l.origin = o
		nodes := l.cluster("a", "b")
		a, b := nodes[0], nodes[1]
		a.cache.OnWarm("other", warmer{a})
		long := strings.Repeat("k", 1000)
		const keys = 200
		for i := range keys {
			a.read(t, fmt.Sprint(long, i), o)
		}
		a.read(t, strings.Repeat("k", maxPeerRequest+1), o) // too long for a question
		list := func(limit int, service string) (services []string, questions map[string]bool) {
			s := hotSource{node: b.Node, to: a.Status().Instance, limit: limit, service: service}
			questions = make(map[string]bool)
			for !s.ended {
				p, err := s.next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				services = append(services, p.service)
				for _, q := range p.questions {
					questions[p.service+string(q)] = true
				}
			}
			return services, questions
		}
		services, questions := list(1000, "")
		if got := strings.Join(services, " "); got != strings.TrimSpace(strings.Repeat("other site ", 4)) || len(questions) != 2*keys {
			t.Errorf("got pages of %s with %d questions", got, len(questions))
		}
		if services, questions = list(1000, "site"); len(services) != 4 || len(questions) != keys || !questions["site"+long+"0"] {
			t.Errorf("got %d pages with %d questions", len(services), len(questions))
		}
		if services, questions = list(10, "site"); len(services) != 1 || len(questions) > 10 {
			t.Errorf("got %d pages with %d questions", len(services), len(questions))
		}
		if services, questions = list(10, "unknown"); len(services) != 1 || len(questions) != 0 {
			t.Errorf("got %d pages with %d questions", len(services), len(questions))
		}
		if len(a.hot.lists) != 0 {
			t.Errorf("%d lists are kept", len(a.hot.lists))
		}
	})
}

// Lists are kept for a minute, only for members, and only a few.
func TestListsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t), &source{value: "x"}
		l.origin = o
		names := []string{"a"}
		for i := range maxLists + 1 {
			names = append(names, fmt.Sprint("n", i))
		}
		nodes := l.cluster(names...)
		for i := range 100 {
			nodes[0].read(t, fmt.Sprint(strings.Repeat("k", 1000), i), o)
		}
		to := nodes[0].Status().Instance
		var sources []*hotSource
		for i, m := range nodes[1:] {
			s := &hotSource{node: m.Node, to: to, limit: 1000}
			sources = append(sources, s)
			if _, err := s.next(t.Context()); (err == nil) != (i < maxLists) {
				t.Errorf("list %d: %v", i, err)
			}
		}
		time.Sleep(listFor / 2)
		if _, err := sources[0].next(t.Context()); err != nil || !sources[0].ended {
			t.Errorf("the second page: %v", err)
		}
		time.Sleep(listFor/2 + time.Second)
		if _, err := sources[1].next(t.Context()); !errors.Is(err, errNoReply) {
			t.Errorf("the second page after a minute: %v", err)
		}
		nodes[0].hot.mu.Lock()
		if n := len(nodes[0].hot.lists); n != 0 {
			t.Errorf("%d lists are kept", n)
		}
		nodes[0].hot.mu.Unlock()
		for _, frame := range [][]byte{nil, bytes.Repeat([]byte{0x80}, 20), appendHottestRequest(nil, 12345, 0, 10, "")} {
			if reply := nodes[0].answerHottest(t.Context(), frame); reply != nil {
				t.Errorf("%x is answered", frame)
			}
		}
		for _, frame := range [][]byte{nil, {0}, {0, 1}, {0, 0, 5}, {0x80}} {
			if _, err := parseHotPage(frame); err == nil {
				t.Errorf("%x is a page", frame)
			}
		}
	})
}
