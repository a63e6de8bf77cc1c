package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers registers a function that answers requests of the kind "greet" with the node's name.
func (m *member) answers() {
	m.Handle("greet", func(_ context.Context, request []byte) []byte { return append(request, " from "+m.name...) })
}

func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		a, b := nodes[0], nodes[1]
		b.answers()
		to := b.Status().Instance
		if reply, err := a.Ask(t.Context(), to, "greet", []byte("hello")); err != nil || string(reply) != "hello from b" {
			t.Errorf("%q, %v", reply, err)
		}
		if reply, err := a.Ask(t.Context(), to, "greet", nil); err != nil || string(reply) != " from b" {
			t.Errorf("an empty request: %q, %v", reply, err)
		}
		if _, err := a.Ask(t.Context(), to, "other", []byte("hello")); !errors.Is(err, errNoReply) {
			t.Errorf("another kind: %v", err)
		}
		if _, err := a.Ask(t.Context(), to+1, "greet", []byte("hello")); err == nil {
			t.Error("an unknown instance has answered")
		}
		b.Handle("greet", nil)
		if _, err := a.Ask(t.Context(), to, "greet", []byte("hello")); !errors.Is(err, errNoReply) {
			t.Errorf("without a handler: %v", err)
		}
	})
}

func TestAskAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		a, b := nodes[0], nodes[1]
		for _, m := range nodes {
			m.answers()
		}
		ask := func(want string) (string, bool, time.Duration) {
			start := time.Now()
			reply, ok := a.AskAll(t.Context(), "greet", []byte("hello"), func(reply []byte) bool {
				return strings.HasSuffix(string(reply), want)
			})
			return string(reply), ok, time.Since(start)
		}
		for _, name := range []string{"b", "c"} {
			if reply, ok, _ := ask(name); !ok || reply != "hello from "+name {
				t.Errorf("%q, %v: want the reply of %s", reply, ok, name)
			}
		}
		if reply, ok, after := ask("a"); ok || after != 0 {
			t.Errorf("%q, %v after %v: no good reply was sent", reply, ok, after)
		}
		b.Handle("greet", nil)
		if _, ok, after := ask("c"); !ok || after != 0 {
			t.Errorf("%v after %v: c has answered", ok, after)
		}
		l.net.isolate("c", true)
		if _, ok, after := ask("c"); ok || after != askAllTimeout {
			t.Errorf("%v after %v: c is cut off", ok, after)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if _, ok := a.AskAll(ctx, "greet", nil, func([]byte) bool { return true }); ok || time.Since(start) > 0 {
			t.Errorf("%v after %v: the context has ended", ok, time.Since(start))
		}
	})
}

// A node that is alone asks no other one.
func TestAskAllAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newLab(t).cluster("a")[0]
		a.answers()
		start := time.Now()
		if reply, ok := a.AskAll(t.Context(), "greet", nil, func([]byte) bool { return true }); ok || time.Since(start) > 0 {
			t.Errorf("%q after %v", reply, time.Since(start))
		}
	})
}

func TestCutKind(t *testing.T) {
	for _, test := range []struct {
		frame, kind, request string
		ok                   bool
	}{
		{"", "", "", false},
		{"\x01", "", "", false},
		{"\x05kind", "", "", false},
		{"\x04kind", "kind", "", true},
		{"\x04kindrequest", "kind", "request", true},
		{"\x00request", "", "request", true},
	} {
		kind, request, ok := cutKind([]byte(test.frame))
		if string(kind) != test.kind || string(request) != test.request || ok != test.ok {
			t.Errorf("%q: %q, %q, %v", test.frame, kind, request, ok)
		}
	}
	if kind, request, ok := cutKind(append(appendKind(nil, strings.Repeat("k", maxKind)), "r"...)); !ok || len(kind) != maxKind || string(request) != "r" {
		t.Errorf("the longest kind: %d bytes, %q, %v", len(kind), request, ok)
	}
}
