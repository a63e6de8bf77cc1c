package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// source is the origin of a test. It has one value for all keys.
type source struct {
	delay time.Duration

	mu    sync.Mutex
	value string
	reads int
}

func (o *source) fill(ctx context.Context, _ *cache.Stamp) (cache.Filling, error) {
	o.mu.Lock()
	o.reads++
	value := o.value
	o.mu.Unlock()
	select {
	case <-time.After(o.delay):
	case <-ctx.Done():
		return cache.Filling{}, ctx.Err()
	}
	return cache.Filling{Payload: []byte(value), Kind: 7, TTL: time.Hour}, nil
}

func (o *source) set(value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value = value
}

// count returns the number of reads since the last call.
func (o *source) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.reads
	o.reads = 0
	return n
}

// serve lets nodes answer each other from o.
func (o *source) serve(nodes []*member) {
	for _, m := range nodes {
		m.cache.OnFetch("site", func(ctx context.Context, request []byte) (cache.Shared, bool) {
			return m.space.Share(ctx, request, []cache.Tag{item}, m.cache.AskStored(query(string(request)), o.fill))
		})
		m.cache.OnWarm("site", warmer{m})
	}
}

// query returns the question for a key.
func query(key string) cache.Query {
	return cache.Query{Service: "site", Key: []byte(key), Request: []byte(key), Use: use}
}

func use(s cache.Shared) (cache.Filling, bool) {
	return cache.Filling{Payload: s.Payload, Kind: s.Kind, TTL: 2 * time.Hour}, s.Kind == 7
}

// warmer is the service "site" of a node, whose questions are keys.
type warmer struct{ m *member }

func (w warmer) Hottest(n int, yield func([]byte) bool) {
	for _, e := range w.m.space.Hottest(n) {
		if !yield(e.Key()) {
			return
		}
	}
}

func (w warmer) Stored(key []byte) (cache.Shared, bool) { return w.m.space.Fresh(key) }

func (w warmer) Expect(_ context.Context, key []byte) func(cache.Shared) bool {
	return w.m.space.Expect(key, []cache.Tag{item}, use)
}

// read returns the value of a key as a client of m gets it.
func (m *member) read(t *testing.T, key string, o *source) (string, cache.Answer) {
	t.Helper()
	a, err := m.space.Fill(t.Context(), []byte(key), []cache.Tag{item}, m.cache.AskFirst(query(key), o.fill))
	if err != nil {
		t.Errorf("%s: %v", m.name, err)
		return "", a
	}
	return string(a.Entry.Payload()), a
}

// ownedBy returns a key that node owns.
func ownedBy(t *testing.T, m *member, node string) string {
	t.Helper()
	v := m.Status().View
	for i := range 1000 {
		key := fmt.Sprint("key", i)
		if rendezvous(&v, []byte(key), 0).Node == node {
			return key
		}
	}
	t.Fatalf("%s owns nothing", node)
	return ""
}

// peerCounts returns the counters of own and of others' requests.
func (m *member) peerCounts() string {
	p := &m.peers
	return fmt.Sprintf("answered %d, declined %d, silent %d; hits %d, fills %d, declined %d",
		p.answered.Value(), p.declined.Value(), p.silent.Value(), p.hits.Value(), p.fills.Value(), p.refused.Value())
}

// Many clients of three nodes ask for the same keys: the origin is asked once for each.
func TestOneFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		o := &source{delay: 100 * time.Millisecond, value: "x"}
		o.serve(nodes)
		start := time.Now()
		const keys = 10
		var clients sync.WaitGroup
		for i := range 1000 {
			clients.Go(func() {
				if v, _ := nodes[i%3].read(t, fmt.Sprint("key", i/3%keys), o); v != "x" {
					t.Errorf("got %q", v)
				}
			})
		}
		clients.Wait()
		if got := o.count(); got != keys {
			t.Errorf("the origin was asked %d times, want %d", got, keys)
		}
		if took := time.Since(start); took > 110*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		for i := range 3 * keys {
			nodes[i%3].read(t, fmt.Sprint("key", i/3), o)
		}
		if got := o.count(); got != 0 {
			t.Errorf("the origin was asked %d times for what is stored", got)
		}
	})
}

// A node takes over from the owner's memory what is left of an entry's life.
func TestFetchOfHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		o := &source{value: "x"}
		o.serve(nodes)
		key := ownedBy(t, nodes[0], "b")
		nodes[1].read(t, key, o)
		time.Sleep(time.Minute)
		v, a := nodes[0].read(t, key, o)
		if ttl := a.Entry.TTL(nodes[0].cache.Now()); v != "x" || !a.Stored || a.Entry.Kind() != 7 || ttl != 59*time.Minute {
			t.Errorf("got %q, stored %t, kind %d, %s left", v, a.Stored, a.Entry.Kind(), ttl)
		}
		if got := o.count(); got != 1 {
			t.Errorf("the origin was asked %d times", got)
		}
		if got, want := nodes[0].peerCounts(), "answered 1, declined 0, silent 0; hits 0, fills 0, declined 0"; got != want {
			t.Errorf("a: got %s, want %s", got, want)
		}
		if got, want := nodes[1].peerCounts(), "answered 0, declined 0, silent 0; hits 1, fills 0, declined 0"; got != want {
			t.Errorf("b: got %s, want %s", got, want)
		}
		// When the entry has expired on the owner, both ask the origin again, once.
		time.Sleep(time.Hour)
		o.set("y")
		if v, _ := nodes[0].read(t, key, o); v != "y" || o.count() != 1 {
			t.Errorf("after the end of its life: got %q", v)
		}
	})
}

// The owner dies, at once or while it fills: the node asks the origin, 150 ms after the last
// sign. Later it does not ask that owner any more.
func TestSilentOwner(t *testing.T) {
	for _, after := range []time.Duration{0, 51 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				nodes := l.cluster("a", "b", "c")
				o := &source{delay: 100 * time.Millisecond, value: "x"}
				o.serve(nodes)
				key := ownedBy(t, nodes[0], "b")
				start := time.Now()
				if after == 0 {
					l.net.isolate("b", true)
				} else {
					time.AfterFunc(after, func() { l.net.isolate("b", true) })
				}
				v, a := nodes[0].read(t, key, o)
				if took, limit := time.Since(start), after+silentAsk+o.delay; v != "x" || !a.Stored || took > limit {
					t.Errorf("got %q, stored %t, after %s", v, a.Stored, took)
				}
				if got := nodes[0].peers.silent.Value(); got != 1 {
					t.Errorf("%d owners were silent", got)
				}
				time.Sleep(time.Duration(silentOwner) + after - time.Since(start) + time.Millisecond)
				if got := nodes[0].Owner([]byte(key)); got != "" {
					t.Errorf("%s is asked", got)
				}
			})
		})
	}
}

// A key has one owner, which remains it while it is silent, until it is a member no more.
func TestOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		key := []byte(ownedBy(t, nodes[0], "b"))
		owners := func() (names string) {
			for _, m := range nodes {
				if m.Owns(key) {
					names += m.name
				}
			}
			return names
		}
		if got := owners(); got != "b" {
			t.Errorf("the owners are %q", got)
		}
		l.net.isolate("b", true)
		time.Sleep(time.Duration(silentOwner) + 10*time.Millisecond)
		if got := owners(); got != "b" {
			t.Errorf("while b is silent, the owners are %q", got)
		}
		time.Sleep(10 * time.Second)
		if got := strings.Trim(owners(), "b"); got != "a" && got != "c" {
			t.Errorf("after that, the owners are %q", got)
		}
	})
}

// An owner that has nothing to do sends its regular messages often enough to be asked.
func TestIdleOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		time.Sleep(time.Second)
		for _, owner := range []string{"b", "c"} {
			key := []byte(ownedBy(t, nodes[0], owner))
			for range 1000 {
				if got := nodes[0].Owner(key); got != owner {
					t.Fatalf("%q is asked instead of %s", got, owner)
				}
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// A write during a fill by a peer: the asker does not store the answer, and a later read does
// not join it.
func TestWriteDuringFetch(t *testing.T) {
	for _, writer := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(writer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				nodes := l.cluster("a", "b", "c")
				o := &source{delay: 100 * time.Millisecond, value: "old"}
				o.serve(nodes)
				key := ownedBy(t, nodes[0], "b")
				var reader sync.WaitGroup
				reader.Go(func() {
					// Its value is open, since it overlaps with the write.
					if _, a := nodes[0].read(t, key, o); a.Stored {
						t.Error("an answer that the write has overtaken is stored")
					}
				})
				time.Sleep(50 * time.Millisecond)
				w, err := nodes[writer].cache.Begin(t.Context(), []cache.Tag{item}, nil)
				if err != nil {
					t.Fatal(err)
				}
				o.set("new")
				if v, a := nodes[0].read(t, key, o); v != "new" || a.Stored {
					t.Errorf("got %q during the write, stored %t", v, a.Stored)
				}
				if got := nodes[0].peers.answered.Value(); got != 0 {
					t.Errorf("%d answers of peers are used during the write", got)
				}
				if _, err := w.Commit(t.Context(), cache.Change{}); err != nil {
					t.Fatal(err)
				}
				for _, m := range nodes {
					if v, _ := m.read(t, key, o); v != "new" {
						t.Errorf("%s: got %q after the write", m.name, v)
					}
				}
				reader.Wait()
				time.Sleep(time.Second)
				for _, m := range nodes {
					if v, a := m.read(t, key, o); v != "new" || !a.Stored {
						t.Errorf("%s: got %q, stored %t later", m.name, v, a.Stored)
					}
				}
			})
		})
	}
}

// An owner declines at once what it must not share.
func TestDeclined(t *testing.T) {
	one := func(name string, prepare func(t *testing.T, l *lab, owner *member, o *source)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				failing := &switched{Store: l.store}
				a, b := l.start("a"), l.start("b", func(c *Config, _ *protocol.Member) { c.Store = failing })
				l.serving(a)
				l.serving(b)
				o := &source{value: "x"}
				o.serve([]*member{a, b})
				key := ownedBy(t, a, "b")
				b.read(t, key, o)
				prepare(t, l, b, o)
				if strings.HasPrefix(name, "lease") {
					failing.fail(errors.New("unavailable"))
					for b.Status().Serving {
						time.Sleep(10 * time.Millisecond)
					}
				}
				o.count()
				start := time.Now()
				if v, _ := a.read(t, key, o); v != o.value {
					t.Errorf("got %d bytes", len(v))
				}
				if got := o.count(); got != 1 {
					t.Errorf("the origin was asked %d times", got)
				}
				if got := a.peers.declined.Value(); got != 1 || time.Since(start) > silentAsk/2 {
					t.Errorf("%d requests were declined, after %s", got, time.Since(start))
				}
			})
		})
	}
	one("lease", func(*testing.T, *lab, *member, *source) {})
	one("lease, unchecked by the service", func(_ *testing.T, _ *lab, owner *member, _ *source) {
		owner.cache.OnFetch("site", func(context.Context, []byte) (cache.Shared, bool) {
			return cache.Shared{Payload: []byte("old"), Kind: 7, Hit: true, TTL: time.Hour}, true
		})
	})
	one("write in flight there", func(_ *testing.T, _ *lab, owner *member, _ *source) { owner.cache.Hold([]cache.Tag{item}) })
	one("too large", func(t *testing.T, _ *lab, owner *member, o *source) {
		o.set(strings.Repeat("x", maxPeerAnswer+1))
		owner.cache.Quarantine(0, item) // moves its generation
		time.Sleep(5 * time.Millisecond)
		owner.read(t, ownedBy(t, owner, "b"), o)
	})
	one("no service", func(_ *testing.T, _ *lab, owner *member, _ *source) { owner.cache.OnFetch("site", nil)() })
	one("another epoch", func(_ *testing.T, _ *lab, owner *member, _ *source) {
		v := owner.machine.View() // as if its members had changed
		v.Epoch++
	})
}

// All other members are asked at the same time. Those that decline or are silent have no answer.
func TestFetchAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c", "d")
		answer := func(m *member, takes time.Duration) {
			m.cache.OnFetch("site", func(_ context.Context, request []byte) (cache.Shared, bool) {
				time.Sleep(takes)
				return cache.Shared{Payload: append([]byte(m.name), request...), Kind: 7}, m.name != "d"
			})
		}
		for _, m := range nodes {
			answer(m, 100*time.Millisecond)
		}
		ask := func(ctx context.Context, request string) string {
			var got []string
			for _, s := range nodes[0].cache.AskAll(ctx, "site", []byte(request)) {
				got = append(got, string(s.Payload))
			}
			slices.Sort(got)
			return strings.Join(got, " ")
		}
		expect := func(what, want string, takes time.Duration) {
			t.Helper()
			start := time.Now()
			if got := ask(t.Context(), "?"); got != want || time.Since(start) != takes {
				t.Errorf("%s: got %q after %s, want %q after %s", what, got, time.Since(start), want, takes)
			}
			p := &nodes[0].peers
			p.mu.Lock()
			defer p.mu.Unlock()
			if n := len(p.asked); n != 0 {
				t.Errorf("%s: %d questions remain", what, n)
			}
		}
		expect("all", "b? c?", 100*time.Millisecond)
		answer(nodes[2], silentAsk+time.Millisecond) // its signs are of no interest
		expect("one is slow", "b?", silentAsk)
		time.Sleep(time.Second)
		l.net.isolate("b", true)
		answer(nodes[2], 0)
		expect("one is cut off", "c?", silentAsk)
		if got := ask(t.Context(), strings.Repeat("x", maxPeerRequest)); got == "" {
			t.Error("a long request is not sent")
		}
		if got := ask(t.Context(), strings.Repeat("x", maxPeerRequest+1)); got != "" {
			t.Error("a request is sent that is too long")
		}
		time.Sleep(time.Duration(silentOwner))
		answer(nodes[3], 50*time.Millisecond)
		expect("it is not asked any more", "c?", 50*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if got := ask(ctx, "?"); got != "c?" || ctx.Err() == nil {
			t.Errorf("got %q when the context ended", got)
		}
		if got, want := nodes[0].peerCounts(), "answered 0, declined 0, silent 0; hits 0, fills 0, declined 0"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		l.net.isolate("b", false)
		l.net.isolate("a", true)
		time.Sleep(10 * time.Second) // it serves nothing any more
		expect("isolated", "", 0)
	})
}

// When the owner's epoch moves, it sends no more signs for earlier requests.
func TestEpochMovesDuringFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		o := &source{delay: time.Second, value: "x"}
		o.serve(nodes)
		key := ownedBy(t, nodes[0], "b")
		time.AfterFunc(100*time.Millisecond, func() { l.start("c") })
		if v, _ := nodes[0].read(t, key, o); v != "x" {
			t.Errorf("got %q", v)
		}
		if got := nodes[0].peers.silent.Value(); got != 1 || o.count() != 2 {
			t.Errorf("%d owners were silent", got)
		}
	})
}

// An owner that works for long, for example without contact to the origin, is not waited for.
func TestSlowOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		fast, slow := &source{value: "x"}, &source{delay: 5 * time.Second, value: "x"}
		slow.serve(nodes)
		key := ownedBy(t, nodes[0], "b")
		start := time.Now()
		if v, _ := nodes[0].read(t, key, fast); v != "x" {
			t.Errorf("got %q", v)
		}
		if took := time.Since(start); took > maxAsk+10*time.Millisecond || slow.count() != 1 {
			t.Errorf("it took %s", took)
		}
		time.Sleep(slow.delay) // its fill ends
	})
}

// switched is a Store that can fail for one node.
type switched struct {
	Store
	mu  sync.Mutex
	err error
}

func (s *switched) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *switched) Read(ctx context.Context) (protocol.View, error) {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return protocol.View{}, err
	}
	return s.Store.Read(ctx)
}

// While a purge is carried out somewhere, no answers of peers are used.
func TestPurgeAndFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		o := &source{value: "x"}
		o.serve(nodes)
		key := ownedBy(t, nodes[0], "b")
		release := make(chan struct{})
		nodes[2].cache.OnBroadcast("site", func([]byte) { <-release })
		var purge sync.WaitGroup
		purge.Go(func() {
			if err := nodes[0].cache.Broadcast(t.Context(), "site", []byte("purge")); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(50 * time.Millisecond)
		for _, m := range nodes {
			if got := m.Owner([]byte(key)); got != "" {
				t.Errorf("%s asks %s during a purge", m.name, got)
			}
			if v, _ := m.read(t, key, o); v != "x" {
				t.Errorf("%s: got %q", m.name, v)
			}
		}
		if got := o.count(); got != 3 {
			t.Errorf("the origin was asked %d times", got)
		}
		close(release)
		purge.Wait()
		synctest.Wait()
		if got := nodes[0].Owner([]byte(key)); got != "b" {
			t.Errorf("after the purge %q is asked", got)
		}
	})
}

// Signs of one member are no signs of another one, and a reply for an unknown request, or of
// the wrong member, is dropped.
func TestForeignReplies(t *testing.T) {
	p := &peers{}
	q := &question{to: 1, sign: make(chan struct{}, 1), answer: make(chan *peerFrame, 1)}
	number := p.ask(q)
	p.alive(&peerFrame{from: 2, alive: []uint64{number, 99}})
	p.reply(&peerFrame{kind: peerDecline, from: 2, number: number})
	p.reply(&peerFrame{kind: peerAnswer, from: 1, number: 99})
	if len(q.sign)+len(q.answer) > 0 {
		t.Fatal("a foreign reply is taken")
	}
	p.alive(&peerFrame{from: 1, alive: []uint64{number}})
	p.alive(&peerFrame{from: 1, alive: []uint64{number}})
	for range 2 {
		p.reply(&peerFrame{kind: peerAnswer, from: 1, number: number})
	}
	if len(q.sign) != 1 || len(q.answer) != 1 {
		t.Error("the owner's reply is dropped")
	}
}

// A request without signs of its own waits for an owner that sends signs for others, or messages
// of the protocol, 400 ms at most.
func TestExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, signed := &peers{}, time.Now()
		var heard time.Time
		f := func(of protocol.Instance, want time.Duration) {
			t.Helper()
			if got := max(0, p.extension(of, signed, heard)); got != want {
				t.Errorf("member %d, %s after the sign: got %s, want %s", of, time.Since(signed), got, want)
			}
		}
		time.Sleep(10 * time.Millisecond)
		p.alive(&peerFrame{from: 1})
		time.Sleep(10 * time.Millisecond)
		f(1, silentAsk-10*time.Millisecond)
		f(2, 0)
		time.Sleep(silentAsk - 10*time.Millisecond)
		f(1, 0)
		heard = time.Now().Add(-time.Millisecond)
		f(1, silentAsk-time.Millisecond)
		f(2, silentAsk-time.Millisecond)
		heard = time.Time{}
		time.Sleep(maxUnsigned - silentAsk - 11*time.Millisecond)
		p.alive(&peerFrame{from: 1})
		f(1, silentAsk)
		time.Sleep(time.Millisecond)
		f(1, 0)
	})
}

// The keys are distributed evenly. A member that is added takes keys, and moves no others.
func TestRendezvous(t *testing.T) {
	v := protocol.View{Members: []protocol.Member{{Instance: 1, Node: "a"}, {Instance: 2, Node: "b"}, {Instance: 3, Node: "c", Joining: true}}}
	const keys = 9000
	before, counts := make([]string, keys), map[string]int{}
	for i := range keys {
		before[i] = rendezvous(&v, fmt.Append(nil, "key", i), 0).Node
		counts[before[i]]++
	}
	if counts["c"] > 0 || counts["a"] < keys/2-300 || counts["a"] > keys/2+300 {
		t.Errorf("two members: %v", counts)
	}
	v.Members[2].Joining = false
	clear(counts)
	for i := range keys {
		now := rendezvous(&v, fmt.Append(nil, "key", i), 0).Node
		counts[now]++
		if now != "c" && now != before[i] {
			t.Fatalf("key %d has moved from %s to %s", i, before[i], now)
		}
	}
	for _, m := range v.Members {
		if n := counts[m.Node]; n < keys/3-300 || n > keys/3+300 {
			t.Errorf("three members: %v", counts)
		}
	}
	if rendezvous(&protocol.View{}, nil, 0) != nil {
		t.Error("a view without members has an owner")
	}
}
