package dax

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// list sends an endpoints request and returns the reply as text, a line for each node.
func (c *client) list() string {
	c.t.Helper()
	c.send(askEndpoints)
	b := unhex(c.t, c.reply(2))
	if b[0] != success || b[1]>>5 != 4 || b[1] == 0x9f {
		c.t.Fatalf("got the reply %x", b)
	}
	r := cbor.NewReader(b[1:])
	var text strings.Builder
	n := r.Array()
	for r.More(&n) {
		if fields := r.Map(); fields != nodeFields {
			c.t.Fatalf("a node has %d fields in %x", fields, b)
		}
		for key := range int64(nodeFields) {
			if got := r.Int(); got != key {
				c.t.Fatalf("got field %d, want %d", got, key)
			}
			switch r.Kind() {
			case cbor.Uint:
				v := r.Int()
				if key == fieldSession {
					v = min(v, 1)
				}
				fmt.Fprint(&text, v, " ")
			case cbor.Bytes:
				a, _ := netip.AddrFromSlice(r.Bytes())
				fmt.Fprint(&text, a, " ")
			default:
				fmt.Fprint(&text, string(r.Text()), " ")
			}
		}
		text.WriteString("\n")
	}
	if err := r.Close(); err != nil {
		c.t.Fatal(err)
	}
	return text.String()
}

func TestEndpoints(t *testing.T) {
	four, six := netip.MustParseAddrPort("192.0.2.1:18111"), netip.MustParseAddrPort("[2001:db8::1]:18111")
	members := func() []Member {
		return []Member{
			{ID: 7, Name: "b", Addresses: []netip.AddrPort{six, netip.MustParseAddrPort("192.0.2.2:8111")}, Zone: "z2", Session: 1},
			{ID: 3, Name: "a", Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.3:8111")}, Zone: "z1", Session: 1, Self: true},
			{ID: 5, Addresses: []netip.AddrPort{six}, Session: 1},
			{ID: 9, Session: 1},
		}
	}
	f := func(name string, change func(*Config), drain bool, want string) {
		t.Helper()
		r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0"; change(c) })
		if drain {
			r.srv.Drain()
		}
		want = strings.ReplaceAll(want, "PORT", fmt.Sprint(netip.MustParseAddrPort(r.srv.Addr().String()).Port()))
		if got := r.hello("Python").list(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	f("alone", func(*Config) {}, false, "1 127.0.0.1 127.0.0.1 PORT 1 kasoku 1 \n")
	f("advertised", func(c *Config) { c.Advertise, c.Zone = []netip.AddrPort{six, four}, "z" }, false, "1 192.0.2.1 192.0.2.1 18111 1 z 1 \n")
	f("only of the other family", func(c *Config) { c.Advertise = []netip.AddrPort{six} }, false, "1 2001:db8::1 2001:db8::1 18111 1 kasoku 1 \n")
	f("mapped", func(c *Config) { c.Advertise = []netip.AddrPort{netip.MustParseAddrPort("[::ffff:192.0.2.1]:1")} }, false, "1 192.0.2.1 192.0.2.1 1 1 kasoku 1 \n")
	f("a port", func(c *Config) { c.Advertise = []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:4")} }, false, "1 127.0.0.1 127.0.0.1 4 1 kasoku 1 \n")
	f("an address", func(c *Config) { c.Advertise = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:0")} }, false, "1 192.0.2.1 192.0.2.1 PORT 1 kasoku 1 \n")
	f("members", func(c *Config) { c.Members = members }, false,
		"3 a 192.0.2.3 8111 1 z1 1 \n5 2001:db8::1 2001:db8::1 18111 2 kasoku 1 \n7 b 192.0.2.2 8111 2 z2 1 \n")
	f("members, advertised", func(c *Config) { c.Members, c.Advertise = members, []netip.AddrPort{four} }, false,
		"3 a 192.0.2.1 18111 1 z1 1 \n5 2001:db8::1 2001:db8::1 18111 2 kasoku 1 \n7 b 192.0.2.2 8111 2 z2 1 \n")
	f("members, draining", func(c *Config) { c.Members = members }, true,
		"5 2001:db8::1 2001:db8::1 18111 1 kasoku 1 \n7 b 192.0.2.2 8111 2 z2 1 \n")
	doubt := func(ids ...int64) func(*Config) {
		return func(c *Config) {
			c.Members = func() []Member {
				all := members()
				for i := range all {
					all[i].Doubtful = slices.Contains(ids, all[i].ID)
				}
				return all
			}
		}
	}
	f("the first one is doubtful", doubt(3), false,
		"5 2001:db8::1 2001:db8::1 18111 1 kasoku 1 \n7 b 192.0.2.2 8111 2 z2 1 \n3 a 192.0.2.3 8111 2 z1 1 \n")
	f("all are doubtful", doubt(3, 5, 7), false,
		"3 a 192.0.2.3 8111 1 z1 1 \n5 2001:db8::1 2001:db8::1 18111 2 kasoku 1 \n7 b 192.0.2.2 8111 2 z2 1 \n")
	f("draining, alone", func(*Config) {}, true, "1 127.0.0.1 127.0.0.1 PORT 1 kasoku 1 \n")
	f("draining, and nothing is known of where another is", func(c *Config) {
		c.Members = func() []Member { return []Member{{ID: 2, Session: 1, Self: true}, {ID: 1, Session: 1}} }
	}, true, "2 127.0.0.1 127.0.0.1 PORT 1 kasoku 1 \n")
}

// TestEndpointsFamily sends the request over IPv6.
func TestEndpointsFamily(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Listen = "[::]:0"
		c.Advertise = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("[2001:db8::1]:2")}
	})
	if got := r.hello("Go v1").list(); !strings.Contains(got, " 2001:db8::1 2 ") && !strings.Contains(got, " 192.0.2.1 1 ") {
		t.Errorf("got %v", got)
	}
	r.cfg.Advertise = nil
	r.srv.Configure(r.cfg)
	c := r.hello("Go v1")
	local := c.nc.RemoteAddr().String()
	if got := c.list(); !strings.Contains(got, netip.MustParseAddrPort(local).Addr().Unmap().String()) {
		t.Errorf("the list %s lacks the local address %s", got, local)
	}
}

// TestEndpointsBytes compares the reply with one that clients are known to accept.
func TestEndpointsBytes(t *testing.T) {
	m := Member{ID: 1, Name: "localhost", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:18111")}, Zone: "local-1a", Session: 7}
	got := hex.EncodeToString(appendNode(nil, &m, true))
	if want := "a7000101696c6f63616c686f737402447f000001031946bf040105686c6f63616c2d31610607"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
