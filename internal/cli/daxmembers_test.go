package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/dynamo/dax"
)

// someMember returns the member called name with instance i, whose DAX clients connect to
// 10.0.0.<i>.
func someMember(name string, i protocol.Instance) protocol.Member {
	return protocol.Member{
		Node: name, Instance: i, Zone: "z" + name,
		DAX: map[string][]string{"orders": {fmt.Sprintf("10.0.0.%d:8111", i)}, "other": {"10.0.0.99:1"}},
	}
}

// describe returns a list of nodes as text: their zones, addresses, sessions and marks.
func describe(list []dax.Member) string {
	text := []string{}
	for i := range list {
		m := &list[i]
		line := fmt.Sprintf("%s %v %d", m.Zone, m.Addresses, m.Session)
		if m.Self {
			line += " self"
		}
		if m.Doubtful {
			line += " doubtful"
		}
		text = append(text, line)
	}
	return strings.Join(text, "; ")
}

func newDAXMembers(t *testing.T, membership func() cluster.Membership) *daxMembers {
	h := newHosts(t.Context(), slog.New(slog.DiscardHandler))
	h.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.0.1.1")}, nil
	}
	return &daxMembers{
		membership: membership, hosts: h, drains: new(daxDrains), node: "a", own: new(atomic.Pointer[protocol.Member]), service: "orders", zone: "z",
	}
}

func TestDAXMembers(t *testing.T) {
	const in = protocol.In
	a, b, c := someMember("a", 1), someMember("b", 2), someMember("c", 3)
	joining := someMember("d", 4)
	joining.Joining = true
	ownJoining := a
	ownJoining.Joining = true
	noDAX := protocol.Member{Node: "b", Instance: 2}
	all := protocol.View{Rev: 1, Members: []protocol.Member{a, b, joining, c}}
	suspended := func(of ...protocol.Instance) protocol.View {
		v := all
		for _, i := range of {
			v.Suspended = append(v.Suspended, protocol.Suspension{By: 3, Of: i})
		}
		return v
	}
	view := func(members ...protocol.Member) protocol.View { return protocol.View{Rev: 1, Members: members} }
	const others = "zb [10.0.0.2:8111] 2; zc [10.0.0.3:8111] 3"
	for name, test := range map[string]struct {
		at   cluster.Membership
		own  bool // this node's addresses are known
		want string
	}{
		"serving":               {cluster.Membership{View: all, Self: 1, Mode: in, Serving: true}, true, others + "; za [10.0.0.1:8111] 1 self"},
		"suspended":             {cluster.Membership{View: suspended(1), Self: 1, Mode: in, Serving: true}, true, others + "; za [10.0.0.1:8111] 1 self doubtful"},
		"another is suspended":  {cluster.Membership{View: suspended(2), Self: 1, Mode: in, Serving: true}, true, "zb [10.0.0.2:8111] 2 doubtful; zc [10.0.0.3:8111] 3; za [10.0.0.1:8111] 1 self"},
		"no lease":              {cluster.Membership{View: all, Self: 1, Mode: in}, true, others},
		"no lease, alone":       {cluster.Membership{View: view(a), Self: 1, Mode: in}, true, "za [10.0.0.1:8111] 1 self"},
		"no lease, no other":    {cluster.Membership{View: view(a, noDAX), Self: 1, Mode: in}, true, "z [] 2; za [10.0.0.1:8111] 1 self"},
		"leaving":               {cluster.Membership{View: all, Self: 1, Mode: protocol.Leaving, Serving: true}, true, others + "; za [10.0.0.1:8111] 1 self"},
		"out":                   {cluster.Membership{View: view(b, c), Self: 1}, true, others + "; za [10.0.0.1:8111] 1 self doubtful"},
		"out, old membership":   {cluster.Membership{View: all, Self: 7, Mode: protocol.Probing}, true, others + "; za [10.0.0.1:8111] 7 self doubtful"},
		"joining":               {cluster.Membership{View: view(ownJoining, b, c), Self: 1, Mode: protocol.Joining}, true, others + "; za [10.0.0.1:8111] 1 self doubtful"},
		"addresses are unknown": {cluster.Membership{}, false, "z [] 0 self doubtful"},
		"no view":               {cluster.Membership{Self: 1}, true, "za [10.0.0.1:8111] 1 self doubtful"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDAXMembers(t, func() cluster.Membership { return test.at })
			if test.own {
				d.own.Store(&a)
			}
			if got := describe(d.list()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The list is made again only if something has changed.
func TestDAXMembersKeepList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := someMember("a", 1), someMember("b", 2)
		b.DAX = map[string][]string{"orders": {"b.test:8111"}}
		at := cluster.Membership{View: protocol.View{Rev: 1, Creator: 1, Members: []protocol.Member{a, b}}, Self: 1, Mode: protocol.In, Serving: true}
		d := newDAXMembers(t, func() cluster.Membership { return at })
		lookup, answer := d.hosts.lookup, make(chan struct{})
		d.hosts.lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error) {
			<-answer
			return lookup(ctx, network, host)
		}
		last := d.list()
		f := func(what string, want bool) {
			t.Helper()
			next := d.list()
			if made := &next[0] != &last[0]; made != want {
				t.Errorf("%s: made again: %v, want %v", what, made, want)
			}
			last = next
		}
		if got, want := describe(last), "zb [] 2; za [10.0.0.1:8111] 1 self"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f("nothing", false)
		close(answer)
		synctest.Wait()
		f("the address of b was found", true)
		if got, want := describe(last), "zb [10.0.1.1:8111] 2; za [10.0.0.1:8111] 1 self"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for what, change := range map[string]func(){
			"revision": func() { at.View.Rev++ }, "creator": func() { at.View.Creator++ }, "instance": func() { at.Self = 9 },
			"mode": func() { at.Mode = protocol.Leaving }, "lease": func() { at.Serving = false },
		} {
			change()
			f(what, true)
			f(what+", again", false)
		}
		time.Sleep(daxListAge)
		f("age", true)
	})
}

// A node whose listener ends is not in the list.
func TestDAXMembersDrain(t *testing.T) {
	at := cluster.Membership{Self: 1, Mode: protocol.In, Serving: true, View: protocol.View{
		Rev: 1, Members: []protocol.Member{someMember("a", 1), someMember("b", 2), someMember("c", 3)},
	}}
	d := newDAXMembers(t, func() cluster.Membership { return at })
	f := func(want string) {
		t.Helper()
		if got := describe(d.list()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const b, c, a = "zb [10.0.0.2:8111] 2; ", "zc [10.0.0.3:8111] 3; ", "za [10.0.0.1:8111] 1 self"
	f(b + c + a)
	d.drains.add(daxEnd{2, "other"}, &at.View)
	d.drains.add(daxEnd{4, "orders"}, &at.View) // no member
	f(b + c + a)
	d.drains.add(daxEnd{2, "orders"}, &at.View)
	f(c + a)
	d.drains.addOwn("other")
	f(c + a)
	d.drains.addOwn("orders")
	f(c + "za [] 1 self")
	at.View.Members = at.View.Members[:1]
	d.drains.add(daxEnd{3, "orders"}, &at.View)
	if len(d.drains.ended) > 0 {
		t.Errorf("former members are kept: %v", d.drains.ended)
	}
}

// The numbers of a node are within the limits, and depend on its name only.
func TestDAXNumbers(t *testing.T) {
	d := newDAXMembers(t, nil)
	seen := map[int64]bool{}
	for i := range 1000 {
		m := d.member(&protocol.Member{Node: fmt.Sprint("node", i), Instance: protocol.Instance(math.MaxInt64) - protocol.Instance(i)})
		again := d.member(&protocol.Member{Node: fmt.Sprint("node", i), Instance: protocol.Instance(i)})
		if m.ID != again.ID || m.ID < 1 || m.ID > maxDAXNumber || seen[m.ID] || m.Session > maxDAXNumber || m.Session == again.Session {
			t.Fatalf("node %d is %v, then %v", i, m, again)
		}
		seen[m.ID] = true
	}
}

// Of several addresses, one of each family is announced.
func TestDAXAddresses(t *testing.T) {
	d := newDAXMembers(t, nil)
	m := d.member(&protocol.Member{DAX: map[string][]string{"orders": {
		"10.0.0.1:8111", "10.0.0.2:8112", "[2001:db8::1]:8113", "no port", "10.0.0.1:99999", "[::ffff:10.0.0.4]:8114",
	}}})
	want := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:8111"), netip.MustParseAddrPort("[2001:db8::1]:8113")}
	if !slices.Equal(m.Addresses, want) {
		t.Errorf("got %v, want %v", m.Addresses, want)
	}
}
