package listener

import (
	"net/netip"
	"sync"
)

// Network returns the address by which limits for each client count: the address itself, and
// for IPv6 its /64, which as a rule is one customer's.
func Network(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}

// Clients counts the open connections of each client. The zero value is ready. It has an
// entry for each client that has a connection, and is used when one opens and closes.
type Clients struct {
	mu   sync.Mutex // leaf
	open map[netip.Addr]int
}

// Add counts a connection of ip, unless it has limit connections already; a limit of 0 or
// less is none. Clients of Unix sockets have no address and are not counted.
func (c *Clients) Add(ip netip.Addr, limit int) bool {
	if !ip.IsValid() {
		return true
	}
	ip = Network(ip)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.open[ip]
	if limit > 0 && n >= limit {
		return false
	}
	if c.open == nil {
		c.open = map[netip.Addr]int{}
	}
	c.open[ip] = n + 1
	return true
}

// Remove takes back an Add that returned true.
func (c *Clients) Remove(ip netip.Addr) {
	if !ip.IsValid() {
		return
	}
	ip = Network(ip)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[ip]--; c.open[ip] <= 0 {
		delete(c.open, ip)
	}
}
