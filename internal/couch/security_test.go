package couch

import (
	"fmt"
	"strings"
	"testing"
)

const (
	anyone  = `{"members":{"names":[]}}`
	annOnly = `{"members":{"names":["ann"]}}`
)

// guarded returns a site with two nodes whose database only ann and bob may read.
func guarded(t *testing.T, change ...func(*Config)) *site {
	s := newSite(t, 2, change...)
	for _, n := range s.nodes {
		n.store("x", "1")
		n.set(func() { n.allowed = map[string]bool{"ann": true, "bob": true} })
	}
	s.follow("Authorization", "ann")
	for range 2 {
		s.get("before", "/db/x", 200, "1", "", "Authorization", "bob")
	}
	s.requests()
	return s
}

// expectBobDenied checks that bob may read nothing through any node, and that ann may.
func (s *site) expectBobDenied(what string) {
	s.t.Helper()
	for range 4 {
		for _, path := range []string{"/db/x", view, "/db/x?local_seq=true", "/db"} {
			if g := s.do("GET", path, "", "Authorization", "bob"); g.status != 401 {
				s.t.Errorf("%s: bob got %d for %s", what, g.status, path)
			}
		}
		s.get(what, "/db/x", 200, "1", "", "Authorization", "ann")
		s.get(what, "/db/x?local_seq=true", 200, "1", "", "Authorization", "ann")
	}
}

// TestSecurityOnAllNodes checks that a write of _security reaches every node. CouchDB does
// not replicate it, and a user without permission could still read from the others.
func TestSecurityOnAllNodes(t *testing.T) {
	for _, writes := range []string{WritesFirst, WritesAny} {
		for _, follow := range []bool{true, false} {
			s := newSite(t, 2, func(c *Config) { c.Writes, c.Follow = writes, follow })
			for _, n := range s.nodes {
				n.store("x", "1")
				n.set(func() { n.allowed = map[string]bool{"ann": true, "bob": true} })
			}
			s.get("before", "/db/x", 200, "1", "", "Authorization", "bob")
			if g := s.do("PUT", "/db/_security", annOnly, "Authorization", "ann"); g.status != 200 {
				t.Errorf("got %d %s", g.status, g.body)
			}
			s.expectBobDenied(fmt.Sprint(writes, follow))
			for _, n := range s.nodes {
				if n.acceptedSecurity() != annOnly {
					t.Errorf("node %s has the _security %q", n.name, n.acceptedSecurity())
				}
			}
			if notes := s.Report().Notes; len(notes) > 0 {
				t.Errorf("got the notes %q", notes)
			}
		}
	}
}

// TestSecurityMissed checks a node that rejects a write of _security: the client gets its answer,
// the node is reported, gets no reads, and gets the write later.
func TestSecurityMissed(t *testing.T) {
	f := func(what string, late int, status int, damage, repair func(n *node)) {
		t.Helper()
		s := guarded(t)
		n := s.nodes[late]
		n.set(func() { damage(n) })
		if g := s.do("PUT", "/db/_security", annOnly, "Authorization", "ann"); g.status != status {
			t.Errorf("%s: the write got %d %s; want %d", what, g.status, g.body, status)
		}
		s.expectBobDenied(what)
		notes := strings.Join(s.Report().Notes, "; ")
		if want := "database db: " + n.server.URL + " lacks the _security"; !strings.Contains(notes, want) {
			t.Errorf("%s: got the notes %q; want %q", what, notes, want)
		}
		if text := s.log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "node="+n.server.URL) {
			t.Errorf("%s: the log does not name the node:\n%s", what, text)
		}
		n.set(func() { repair(n) })
		s.until(func() bool {
			return n.acceptedSecurity() == annOnly && !strings.Contains(strings.Join(s.Report().Notes, "; "), "_security")
		})
		s.expectBobDenied(what + ", mended")
		s.until(func() bool { // reads are sent to it again
			s.do("GET", "/db/x?local_seq=true", "", "Authorization", "ann")
			return strings.Contains(strings.Join(n.requests(), " "), "/db/x?local_seq=true")
		})
	}
	f("an error", 1, 500, func(n *node) { n.refuseSecurity = 500 }, func(n *node) { n.refuseSecurity = 0 })
	f("an error of the first node", 0, 500, func(n *node) { n.refuseSecurity = 500 }, func(n *node) { n.refuseSecurity = 0 })
	f("a refusal of another node", 1, 403, func(n *node) { n.refuseSecurity = 403 }, func(n *node) { n.refuseSecurity = 0 })
	f("an unreachable node", 1, 502, func(n *node) { n.unreachable = true }, func(n *node) { n.unreachable = false })
	f("the first is unreachable", 0, 502, func(n *node) { n.unreachable = true }, func(n *node) { n.unreachable = false })
}

// TestSecurityRefused checks that no other node gets the write if the first one refuses it,
// that this applies to PUT only, and that a body is limited.
func TestSecurityRefused(t *testing.T) {
	s := guarded(t)
	a, b := s.nodes[0], s.nodes[1]
	a.set(func() { a.refuseSecurity = 401 })
	if g := s.do("PUT", "/db/_security", annOnly, "Authorization", "bob"); g.status != 401 {
		t.Errorf("a refused write: got %d", g.status)
	}
	s.expectRequests("refused", "a PUT /db/_security")
	a.set(func() { a.refuseSecurity = 0 })
	if g := s.do("PUT", "/db/_security", strings.Repeat(" ", maxWriteBody+1), "Authorization", "ann"); g.status != 413 {
		t.Errorf("a long body: got %d", g.status)
	}
	s.do("POST", "/db/_security", annOnly, "Authorization", "ann")
	s.expectRequests("other requests", "a POST /db/_security")
	if b.acceptedSecurity() != "" || len(s.Report().Notes) > 0 {
		t.Errorf("b has the _security %q; notes %q", b.acceptedSecurity(), s.Report().Notes)
	}
	s.do("POST", "/db/_security", annOnly, "Authorization", "ann", "X-HTTP-Method-Override", "PUT")
	s.expectRequests("an override", "a PUT /db/_security", "b PUT /db/_security")
}

// TestSecurityOfSessions checks that a node without the client's session gets the write with
// Kasoku's own credentials, since another node has accepted the client.
func TestSecurityOfSessions(t *testing.T) {
	s := guarded(t, func(c *Config) { c.User, c.Password = "kasoku", "pw" })
	b := s.nodes[1]
	b.set(func() { b.refuseSecurity = 401 })
	if g := s.do("PUT", "/db/_security", annOnly, "Authorization", "ann"); g.status != 200 {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if b.acceptedSecurity() != annOnly {
		t.Errorf("b has the _security %q", b.acceptedSecurity())
	}
	s.expectBobDenied("a session")
}

// TestSecurityOrder checks that nodes get concurrent writes of _security in the same order.
func TestSecurityOrder(t *testing.T) {
	s := guarded(t)
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			body := fmt.Sprintf(`{"members":{"names":["ann","%d"]}}`, i)
			if g, err := s.tryDo("PUT", "/db/_security", body, "Authorization", "ann"); err != nil || g.status != 200 {
				t.Errorf("got %v, %v", g, err)
			}
		}()
	}
	for range 8 {
		<-done
	}
	if a, b := s.nodes[0].acceptedSecurity(), s.nodes[1].acceptedSecurity(); a != b || strings.Count(a, "ann") != 8 {
		t.Errorf("a has %s\nb has %s", a, b)
	}
}

// TestUsersDiffer checks that nodes with other users or passwords are reported once, at the start,
// unless _users is replicated or a node does not list its users.
func TestUsersDiffer(t *testing.T) {
	f := func(a, b string, replicated bool, want int) {
		t.Helper()
		nodes := []*node{newNode(t, "a"), newNode(t, "b")}
		nodes[0].users, nodes[1].users = a, b
		s := newSite(t, 0, func(c *Config) {
			c.Nodes = []string{nodes[0].server.URL, nodes[1].server.URL}
			if replicated {
				c.Replicate.Databases = []string{"_users"}
			}
		})
		s.compareUsers(t.Context()) // as at the start, where no request waits for it
		s.until(func() bool { return strings.Count(s.log.String(), "users or passwords differ") == 2*want })
	}
	f("1-a", "1-a", false, 0)
	f("1-a", "2-b", false, 1)
	f("1-a", "2-b", true, 0)
	f("1-a", "", false, 0)
	f("", "1-a", false, 0)
}

// TestSecurityDiffers checks that nodes whose _security differs when their database is taken into
// use are reported until it is written through Kasoku.
func TestSecurityDiffers(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	a.securityWrites, b.securityWrites = []string{anyone}, []string{annOnly}
	s.follow()
	notes := func() string { return strings.Join(s.Report().Notes, "; ") }
	want := "database db: " + a.server.URL + " and " + b.server.URL + " differ in _security"
	s.until(func() bool { return strings.Contains(notes(), want) })
	if n := strings.Count(s.log.String(), "the nodes' _security differs"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
	if g := s.do("PUT", "/db/_security", anyone); g.status != 200 {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if text := notes(); text != "" {
		t.Errorf("notes after a write: %s", text)
	}
}
