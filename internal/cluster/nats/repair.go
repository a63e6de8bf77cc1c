package nats

import (
	"math/rand/v2"
	"strings"
	"time"
)

// The server waits for a second before it connects again to a node whose route has ended.
// That is longer than the time after which a member is suspended, so the transport makes it
// connect at once: it replaces the address by one that differs in the fragment of its URL,
// which the server takes for a removed address and a new one.

const (
	// maxRepairs is the number of attempts to restore a route. The server continues with one
	// per second.
	maxRepairs = 4
	// repairDelay is the time between the first two attempts. It doubles with each one.
	repairDelay = 100 * time.Millisecond
	// repairTurn is how long the node with the greater name leaves the route to the other one.
	// If both connect at once, each may keep another connection and close the one of the other.
	repairTurn = 200 * time.Millisecond
	// repairCheck is the interval at which all routes are checked. Meanwhile only their number
	// is.
	repairCheck = time.Second
)

// peer is a member.
type peer struct {
	address  string
	met      bool      // there was a route to it
	lost     bool      // it has ended
	attempts int       // to restore it
	next     time.Time // of the next attempt
}

// Repair restores routes to members that have ended. It returns soon, and is to be called
// often: at least every few hundred milliseconds, and in shorter intervals while messages are
// not answered.
func (t *Transport) Repair() {
	if t.server != nil {
		t.server.repair(time.Now())
	}
}

// repair is Repair at a time.
func (e *embedded) repair(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	remotes := e.NumRemotes()
	if remotes == e.remotes && !e.broken && now.Before(e.checkAt) {
		return
	}
	e.remotes, e.checkAt, e.broken = remotes, now.Add(repairCheck), false
	connected := e.connected()
	repair := false
	for name, p := range e.peers {
		switch {
		case connected[name]:
			p.met, p.lost = true, false
			continue
		case !p.met || e.isOwn(p.address):
			continue // the server connects to it
		case !p.lost:
			p.lost, p.attempts, p.next = true, 0, now
			if e.cfg.Name > name {
				p.next = now.Add(repairTurn)
			}
		}
		e.broken = true
		if p.attempts < maxRepairs && !now.Before(p.next) {
			p.next = now.Add(repairDelay << p.attempts)
			p.attempts++
			e.repairs[p.address]++
			repair = true
		}
	}
	if repair {
		e.reload(true)
	}
}

// connected returns the names of the nodes to which there is a route.
func (e *embedded) connected() map[string]bool {
	names := map[string]bool{}
	if z, err := e.Routez(nil); err == nil {
		for _, r := range z.Routes {
			names[e.nodeOf(r.RemoteName)] = true
		}
	}
	return names
}

// nodeOf returns the name of the node of a server: that of one that keeps copies is its own,
// others have a name of uniqueName. e.mu is held.
func (e *embedded) nodeOf(server string) string {
	if _, member := e.peers[server]; member {
		return server
	}
	if at := strings.LastIndexByte(server, '-'); at >= 0 {
		return server[:at]
	}
	return server
}

// reconnectDelay returns the time before an attempt to connect to the deployment again. The
// first ones are soon, so that a connection that was reset is not missed.
func reconnectDelay(attempt int) time.Duration {
	d := reconnectWait
	if attempt < 5 {
		d = min(d, firstReconnect<<attempt)
	}
	return d/2 + rand.N(d)
}
