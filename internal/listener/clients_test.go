package listener

import (
	"net/netip"
	"testing"
)

// TestClients checks which addresses count as one client, and that all are removed.
func TestClients(t *testing.T) {
	var c Clients
	f := func(address string, want bool) {
		t.Helper()
		var ip netip.Addr
		if address != "" {
			ip = netip.MustParseAddr(address)
		}
		if got := c.Add(ip, 2); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
	f("10.0.0.1", true)
	f("::ffff:10.0.0.1", true)
	f("10.0.0.1", false)
	f("10.0.0.2", true)
	f("2001:db8::1", true)
	f("2001:db8::ffff:1", true)
	f("2001:db8::2", false)
	f("2001:db8:0:1::1", true)
	f("fe80::1%eth0", true)
	f("fe80::2%eth1", true)
	f("fe80::3", false)
	for range 5 {
		f("", true) // a Unix socket
	}
	for _, address := range []string{"10.0.0.1", "10.0.0.1", "10.0.0.2", "2001:db8::9", "2001:db8::9", "2001:db8:0:1::1", "fe80::1", "fe80::1"} {
		c.Remove(netip.MustParseAddr(address))
	}
	c.Remove(netip.Addr{})
	if len(c.open) != 0 {
		t.Errorf("%v are counted after all were removed", c.open)
	}
	for range 3 {
		if !c.Add(netip.MustParseAddr("10.0.0.1"), 0) {
			t.Error("a limit of 0 refused a connection")
		}
	}
}
