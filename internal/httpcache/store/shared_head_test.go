package store

import (
	"slices"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// A head arrives at another member with its fields, its tags and its age, which is independent of
// the clocks.
func TestSharedHead(t *testing.T) {
	o := policy.Defaults()
	const second, asked = policy.Moment(1e6), policy.Moment(1_800_000_000e6)
	fields := http1.FieldsOf("Date", "Fri, 15 Jan 2027 08:00:00 GMT", "Age", "7", "Cache-Control", `max-age=60, private="Secret"`, "Surrogate-Key", "a b", "ETag", `"1"`, "Secret", "x")
	h := NewHead(policy.ParseResponse(200, fields, asked, asked+second, &o), fields, nil, &o)
	b := append(h.AppendShared(nil, asked+5*second, true), "body"...)

	const now = policy.Moment(1_700_000_000e6) // another clock
	s, rest, ok := ParseShared(b, now)
	if !ok || string(rest) != "body" {
		t.Fatalf("got %v, %q", ok, rest)
	}
	if s.Status != 200 || s.Asked != now-5*second {
		t.Errorf("got status %d, asked %d before; want 200, 5 s", s.Status, now-s.Asked)
	}
	if s.Fields.Get("Secret") != nil || string(s.Fields.Get("Age")) != "7" || string(s.Fields.Get("ETag")) != `"1"` {
		t.Errorf("got the fields %v", s.Fields)
	}
	r := policy.ParseResponse(s.Status, s.Fields, s.Asked, now, &o)
	if got := r.Age(now); got != 12 {
		t.Errorf("got an age of %d s, want 7 and 5", got)
	}
	g := NewHead(r, s.Fields, nil, &o)
	g.Tags = Tags{slots: []uint32{h.Tags.slots[1]}}
	if g.AddSharedTags(s); !slices.Equal(g.Tags.slots, h.Tags.slots) {
		t.Errorf("got the tags %v, want %v", g.Tags.slots, h.Tags.slots)
	}

	h.Synthesized = true
	for _, remade := range []bool{true, false} {
		if s, _, _ = ParseShared(h.AppendShared(nil, asked, remade), now); s.Fields.Get("ETag") != nil == remade {
			t.Errorf("a validator is made there: %v, and sent: %v", remade, !remade)
		}
	}
	if s, _, _ = ParseShared(h.AppendPrivate(nil, asked), now); s.Fields.Get("Secret") == nil {
		t.Error("a private response lacks a field")
	}
	h.Tags = Tags{all: true}
	s, _, _ = ParseShared(h.AppendShared(nil, asked, true), now)
	if g.AddSharedTags(s); !g.Tags.all || g.Tags.slots != nil {
		t.Errorf("got the tags %v, want all", g.Tags)
	}
	for n := range len(b) - len("body") {
		if _, _, ok := ParseShared(b[:n], now); ok {
			t.Errorf("the first %d bytes are parsed", n)
		}
	}
}
