package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// formerCounts returns the counters of requests to former owners.
func (m *member) formerCounts() string {
	p := &m.peers
	return fmt.Sprintf("answered %d, absent %d, silent %d", p.formerFound.Value(), p.formerAbsent.Value(), p.formerFailed.Value())
}

// readAll reads keys at a node.
func readAll(t *testing.T, m *member, o *source, keys int) {
	t.Helper()
	for i := range keys {
		if v, _ := m.read(t, fmt.Sprint("key", i), o); v != "x" {
			t.Fatalf("%s: key%d is %q", m.name, i, v)
		}
	}
}

// A node that joins gets the answers for its keys from the nodes that owned them, for its own
// clients and on behalf of other members. The origin is asked for nothing.
func TestFormerOwners(t *testing.T) {
	const keys = 100
	for _, first := range []string{"joiner", "other member"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				nodes := l.cluster("a", "b")
				o := &source{value: "x"}
				o.serve(nodes)
				readAll(t, nodes[0], o, keys)
				if got := o.count(); got != keys {
					t.Fatalf("the origin was asked %d times, want %d", got, keys)
				}
				time.Sleep(time.Minute)
				c := l.start("c")
				l.serving(c)
				nodes = append(nodes, c)
				o.serve(nodes)
				if first == "joiner" {
					readAll(t, c, o, keys)
				} else {
					nodes[0].cache.Empty()
					readAll(t, nodes[0], o, keys)
				}
				// b has only the keys that it owned, and a has lost the ones that it owned.
				if got := o.count(); first == "joiner" && got != 0 || got > keys*3/4 {
					t.Errorf("the origin was asked %d times: %s", got, c.formerCounts())
				}
				owned := 0
				for i := range keys {
					if c.Owner(fmt.Append(nil, "key", i)) == "" {
						owned++
					}
				}
				if found := int(c.peers.formerFound.Value()); found == 0 || first == "joiner" && found != owned {
					t.Errorf("%s, of %d owned keys", c.formerCounts(), owned)
				}
				c.space.Entries(func(e *cache.Entry) bool {
					if ttl := e.TTL(c.cache.Now()); first == "joiner" && ttl > 59*time.Minute {
						t.Errorf("%s is fresh for %s", e.Key(), ttl)
						return false
					}
					return true
				})
			})
		})
	}
}

// When a member has left, the next one in the order may have what it owned.
func TestFormerOwnerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		o := &source{value: "x"}
		o.serve(nodes)
		for _, m := range nodes {
			m.do(func(protocol.Time) { m.formerUntil = 0 }) // the changes by their joining are long ago
		}
		key := ""
		for i := 0; key == ""; i++ {
			v := nodes[0].Status().View
			k := fmt.Append(nil, "key", i)
			if first := rendezvous(&v, k, 0); first.Node == "c" && rendezvous(&v, k, first.Instance).Node == "a" {
				key = string(k)
			}
		}
		nodes[1].read(t, key, o)
		if err := nodes[2].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.until(func() bool {
			return len(nodes[0].Status().View.Members) == 2 && len(nodes[1].Status().View.Members) == 2
		})
		o.count()
		if v, _ := nodes[0].read(t, key, o); v != "x" || o.count() != 0 {
			t.Errorf("got %q, %s", v, nodes[0].formerCounts())
		}
	})
}

// The former owner is asked for some time only, and the origin without delay if it has no answer.
func TestFormerOwnerDeclines(t *testing.T) {
	for name, c := range map[string]struct {
		before func(l *lab, a, b *member)
		want   string
		delay  time.Duration
	}{
		"it has it":              {func(*lab, *member, *member) {}, "answered 1, absent 0, silent 0", 0},
		"it has it not":          {func(_ *lab, a, _ *member) { a.cache.Empty() }, "answered 0, absent 1, silent 0", 0},
		"it is an old version":   {func(_ *lab, a, _ *member) { a.Handle(storedKind, nil) }, "answered 0, absent 0, silent 1", 0},
		"it has no lease":        {func(_ *lab, a, _ *member) { a.cache.SetLease(0) }, "answered 0, absent 1, silent 0", 0},
		"it dies":                {func(l *lab, _, _ *member) { l.net.isolate("a", true) }, "answered 0, absent 0, silent 1", formerAsk},
		"it has died":            {func(l *lab, _, _ *member) { l.net.isolate("a", true); time.Sleep(time.Second) }, "answered 0, absent 0, silent 0", 0},
		"the change is long ago": {func(_ *lab, _, _ *member) { time.Sleep(time.Duration(formerFor)) }, "answered 0, absent 0, silent 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				nodes := l.cluster("a")
				o := &source{value: "x"}
				o.serve(nodes)
				readAll(t, nodes[0], o, 50)
				b := l.start("b")
				l.serving(b)
				o.serve([]*member{nodes[0], b})
				key := ownedBy(t, b, "b")
				nodes[0].read(t, key, o)
				o.count()
				b.cache.Empty()
				c.before(l, nodes[0], b)
				start := time.Now()
				if v, _ := b.read(t, key, o); v != "x" {
					t.Errorf("got %q", v)
				}
				want := 1
				if name == "it has it" {
					want = 0
				}
				if got := o.count(); got != want {
					t.Errorf("the origin was asked %d times, want %d", got, want)
				}
				if took := time.Since(start); took != c.delay {
					t.Errorf("it took %s, want %s", took, c.delay)
				}
				if got := b.formerCounts(); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestStoredFrames(t *testing.T) {
	q := storedRequest{from: 1 << 62, epoch: 300, service: "orders", questions: [][]byte{[]byte("a"), {}, []byte("bc")}}
	b := q.encode()
	if got, err := parseStoredRequest(b); err != nil || fmt.Sprint(got) != fmt.Sprint(q) {
		t.Errorf("got %v, %v; want %v", got, err, q)
	}
	whole := len(q.encode()) - len(appendList(nil, q.questions))
	for n := range whole {
		if _, err := parseStoredRequest(b[:n]); err == nil {
			t.Errorf("%d bytes are a request", n)
		}
	}
	q.questions = make([][]byte, maxQuestions+1)
	for _, bad := range [][]byte{b[:len(b)-1], q.encode()} {
		if _, err := parseStoredRequest(bad); err == nil {
			t.Errorf("%x is a request", bad)
		}
	}
	answers := []storedAnswer{{}, {state: found, shared: cache.Shared{Kind: 3, Hit: true, TTL: time.Hour, Payload: []byte("payload")}}, {state: later}}
	var reply []byte
	for _, a := range answers {
		reply = appendStored(reply, &a)
	}
	if got, err := parseStoredReply(reply, 3); err != nil || fmt.Sprint(got) != fmt.Sprint(answers) {
		t.Errorf("got %v, %v; want %v", got, err, answers)
	}
	for n := range len(reply) {
		if _, err := parseStoredReply(reply[:n], 3); err == nil {
			t.Errorf("%d of %d bytes are a reply", n, len(reply))
		}
	}
	if _, err := parseStoredReply([]byte{9}, 1); err == nil {
		t.Error("an unknown state is a reply")
	}
}

// A reply has as many answers as fit, and at least one.
func TestStoredReplyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		o := &source{value: "x"}
		o.serve(nodes)
		var keys [][]byte
		for i, size := range []int{maxPeerAnswer, 10, maxPeerAnswer + 1} {
			key := fmt.Append(nil, "key", i)
			keys = append(keys, key)
			f := cache.Filling{Payload: make([]byte, size), Kind: 7, TTL: time.Hour}
			nodes[1].space.Store(nodes[1].cache.Note(item), key, &f)
		}
		to, epoch := nodes[1].Status().Instance, nodes[1].Status().View.Epoch
		if _, err := nodes[0].askStored(context.Background(), to, epoch-1, "site", keys); !errors.Is(err, errNoReply) {
			t.Errorf("a request of another epoch: %v", err)
		}
		ask := func(questions [][]byte) (states []byte) {
			answers, err := nodes[0].askStored(context.Background(), to, epoch, "site", questions)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				states = append(states, a.state)
			}
			return states
		}
		for _, c := range []struct {
			questions [][]byte
			want      string
		}{
			{keys, fmt.Sprint([]byte{found, later, later})},
			{keys[1:], fmt.Sprint([]byte{found, absent})}, // what is too long is not sent
		} {
			if got := fmt.Sprint(ask(c.questions)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		}
	})
}
