package flight

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// trace records the states of the flights of one test.
var trace struct {
	sync.Mutex
	on   bool
	list []state // starting with asking
}

func init() {
	onTransition = func(from, to state, drawn bool) {
		if !drawn {
			panic(fmt.Sprintf("flight: no transition from %s to %s", from, to))
		}
		trace.Lock()
		defer trace.Unlock()
		if trace.on {
			trace.list = append(trace.list, to)
		}
	}
}

// closePanics is a body whose Close panics.
type closePanics struct{ io.Reader }

func (closePanics) Close() error { panic("close") }

// Every transition of the diagram in state.go occurs, and no other one does.
func TestTransitions(t *testing.T) {
	driven := map[[2]state]bool{}
	f := func(name, want string, drive func(t *testing.T, s *engine, o *source)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, Limits{Finish: 4}), newSource()
				defer func() {
					trace.Lock()
					defer trace.Unlock()
					trace.on = false
				}()
				trace.Lock()
				trace.on, trace.list = true, []state{asking}
				trace.Unlock()
				drive(t, s, o)
				time.Sleep(time.Minute)
				synctest.Wait()
				trace.Lock()
				defer trace.Unlock()
				var names []string
				for i, to := range trace.list {
					names = append(names, to.String())
					if i > 0 {
						driven[[2]state{trace.list[i-1], to}] = true
					}
				}
				if got := strings.Join(names, " "); got != want {
					t.Errorf("the states are %s, want %s", got, want)
				}
				if st := s.Stats(); st.Running != 0 || st.Held != 0 || st.InFlight != 0 || st.Joinable != 0 || s.abandoned.taken.Load() != 0 {
					t.Errorf("flights or bytes remain: %+v", st)
				}
			})
		})
	}
	join := func(s *engine, o *source) *Waiter {
		w := s.Join(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		return w
	}
	abandon := func(s *engine, o *source) { join(s, o).Leave() }
	whole := func(o *source, a *Answer) {
		a.Whole = store.NewBody([]byte("hello"))
		o.heads <- func(*Flight) (*Answer, error) { return a, nil }
		synctest.Wait()
	}
	unshared := func() *Answer { return &Answer{Head: head(get(url))} }
	late := func(s *engine, o *source, arrived int64) *Waiter {
		w := s.Join(&Request{Query: get(url), Arrived: arrived, Linger: time.Second, KeepFailure: func(error) bool { return true }, Fill: o.fill})
		synctest.Wait()
		return w
	}

	f("streamed", "asking streaming complete draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.head(shared(get(url)), -1)
		o.end(nil)
		w.Leave()
	})
	f("the rest is short", "asking streaming complete released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.head(shared(get(url)), 5)
		o.send("h")
		w.Leave()
		o.send("ello")
		o.end(nil)
	})
	f("the rest is long", "asking streaming canceled failed released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.head(shared(get(url)), 5)
		w.Leave()
	})
	f("broken off", "asking streaming failed draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.head(shared(get(url)), 5)
		o.end(io.ErrUnexpectedEOF)
		w.Leave()
	})
	f("no answer", "asking failed draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.fail(io.ErrUnexpectedEOF)
		w.Leave()
	})
	f("closed", "asking failed draining released", func(t *testing.T, s *engine, o *source) {
		s.Group.Close()
		join(s, o).Leave()
	})
	f("whole at once", "asking complete draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		whole(o, shared(get(url)))
		w.Leave()
	})
	f("private", "asking private draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		o.head(unshared(), 5)
		w.Leave()
	})
	f("body that can't be closed", "asking streaming complete failed draining released", func(t *testing.T, s *engine, o *source) {
		w := join(s, o)
		a := shared(get(url))
		a.Body, a.Length = closePanics{strings.NewReader("hello")}, 5
		o.heads <- func(*Flight) (*Answer, error) { return a, nil }
		synctest.Wait()
		w.Leave()
	})

	f("abandoned and joined", "asking abandoned asking failed draining released", func(t *testing.T, s *engine, o *source) {
		abandon(s, o)
		w := join(s, o)
		o.fail(io.ErrUnexpectedEOF)
		w.Leave()
	})
	f("abandoned, then streamed", "asking abandoned streaming complete released", func(t *testing.T, s *engine, o *source) {
		abandon(s, o)
		o.head(shared(get(url)), 4)
		o.send("hell")
		o.end(nil)
	})
	f("abandoned, then whole", "asking abandoned complete released", func(t *testing.T, s *engine, o *source) {
		abandon(s, o)
		whole(o, shared(get(url)))
	})
	f("abandoned, then private", "asking abandoned private released", func(t *testing.T, s *engine, o *source) {
		abandon(s, o)
		o.head(unshared(), 5)
	})
	f("abandoned, then no answer", "asking abandoned failed released", func(t *testing.T, s *engine, o *source) {
		abandon(s, o)
		o.fail(io.ErrUnexpectedEOF)
	})

	// ignoreCancel starts a flight whose fill returns a although its context has ended.
	ignoreCancel := func(t *testing.T, s *engine, a *Answer) {
		s.abandoned.taken.Add(maxAbandoned)
		gate := make(chan struct{})
		s.Join(&Request{Query: get(url), Fill: func(context.Context, *Flight) (*Answer, error) { <-gate; return a, nil }}).Leave()
		close(gate)
		synctest.Wait()
		s.abandoned.taken.Add(-maxAbandoned)
	}
	f("too many", "asking abandoned canceled failed released", func(t *testing.T, s *engine, o *source) {
		a := shared(get(url))
		a.Body, a.Length = io.NopCloser(strings.NewReader("hello")), 5
		ignoreCancel(t, s, a)
	})
	f("too many, then whole", "asking abandoned canceled complete released", func(t *testing.T, s *engine, o *source) {
		a := shared(get(url))
		a.Whole = store.NewBody([]byte("hello"))
		ignoreCancel(t, s, a)
	})
	f("too many, then private", "asking abandoned canceled private released", func(t *testing.T, s *engine, o *source) {
		ignoreCancel(t, s, unshared())
	})

	f("complete, joined late", "asking complete joinable draining released", func(t *testing.T, s *engine, o *source) {
		w := late(s, o, s.now()+1)
		a := shared(get(url))
		a.Keep = false
		whole(o, a)
		w.Leave()
	})
	f("failed, joined late", "asking failed joinable draining released", func(t *testing.T, s *engine, o *source) {
		arrived := s.now() + 1
		w := late(s, o, arrived)
		time.Sleep(time.Millisecond)
		o.fail(io.ErrUnexpectedEOF)
		second := late(s, o, arrived)
		time.Sleep(time.Minute)
		w.Leave()
		second.Leave()
	})
	f("failed in the background", "asking failed released", func(t *testing.T, s *engine, o *source) {
		s.Refresh(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.fail(io.ErrUnexpectedEOF)
	})

	for from, all := range transitions {
		for _, to := range all {
			if !driven[[2]state{state(from), to}] {
				t.Errorf("no case has the transition from %s to %s", state(from), to)
			}
		}
	}
}

// A transition that is not in the diagram is refused.
func TestRefusedTransition(t *testing.T) {
	before := onTransition
	defer func() { onTransition = before }()
	onTransition = func(state, state, bool) {}
	for from := range states {
		for to := range states {
			f := &Flight{state: from}
			f.to(to)
			want := from
			if slices.Contains(transitions[from], to) {
				want = to
			}
			if f.state != want {
				t.Errorf("from %s to %s: the state is %s, want %s", from, to, f.state, want)
			}
		}
	}
}
