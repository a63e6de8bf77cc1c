// Package memcachedtest is a memcached server in the test's process: text commands, the meta
// commands that our clients send, and scripted misbehaviour.
package memcachedtest

import (
	"bufio"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a memcached server on loopback. It has a clock of its own, so that no value
// expires on a slow machine: see Advance.
type Server struct {
	t       testing.TB
	meta    bool
	secure  *tls.Config // nil: plain
	address string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	items    map[string]*Item
	script   func(command string) (reply string, scripted bool)
	commands []string
	began    time.Time
	ahead    time.Duration
	cas      uint64
}

// Item is the item stored under a key.
type Item struct {
	Value string
	Flags uint32
	// Expires is in the server's time; zero: never.
	Expires time.Time
	CAS     uint64

	Stale bool // marked as such
	won   bool // a client is renewing it
}

// Start starts a server, which ends with the test. With meta it supports the meta protocol.
func Start(t testing.TB, meta bool) *Server {
	t.Helper()
	return start(t, &Server{meta: meta})
}

// StartTLS starts a server with TLS.
func StartTLS(t testing.TB, secure *tls.Config) *Server {
	t.Helper()
	return start(t, &Server{meta: true, secure: secure})
}

func start(t testing.TB, s *Server) *Server {
	t.Helper()
	s.t, s.began, s.address, s.items = t, time.Now(), "127.0.0.1:0", map[string]*Item{}
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Address returns the address that the server listens on, host:port. Restart keeps it.
func (s *Server) Address() string { return s.address }

// Restart listens again after a Stop. The items are kept.
func (s *Server) Restart() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secure != nil {
		l = tls.NewListener(l, s.secure)
	}
	s.listener, s.conns, s.address = l, map[net.Conn]bool{}, l.Addr().String()
	go s.accept(l)
}

// Stop closes the listener and all connections, like a killed server.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.listener.Close() // it may be closed already
	for nc := range s.conns {
		_ = nc.Close()
	}
}

// Set stores a value for a duration; 0 means without expiry.
func (s *Server) Set(key, value string, flags uint32, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := &Item{Value: value, Flags: flags}
	if ttl > 0 {
		it.Expires = s.now().Add(ttl)
	}
	s.put(key, it)
}

// Delete removes the item under a key.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, key)
}

// Item returns the item under a key.
func (s *Server) Item(key string) (Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.find(key); it != nil {
		return *it, true
	}
	return Item{}, false
}

// Advance advances the server's clock.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// Script sets a function that is called with each command's line before it is executed. If
// scripted is true, reply is sent instead of the regular reply, or nothing if it is empty.
func (s *Server) Script(f func(command string) (reply string, scripted bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = f
}

// Commands returns the received command lines that begin with prefix, in order.
func (s *Server) Commands(prefix string) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		if strings.HasPrefix(c, prefix) {
			lines = append(lines, c)
		}
	}
	return lines
}

func (s *Server) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.listener == l {
			s.conns[nc] = true
		}
		s.mu.Unlock()
		go s.serve(nc)
	}
}

func (s *Server) serve(nc net.Conn) {
	defer nc.Close()
	in, out := bufio.NewReader(nc), bufio.NewWriter(nc)
	for s.once(in, out) {
		if in.Buffered() == 0 && out.Flush() != nil {
			break
		}
	}
	_ = out.Flush() // the client may have disconnected
}

// now returns the server's time, which only Advance changes; mu is held.
func (s *Server) now() time.Time { return s.began.Add(s.ahead) }

// find returns the item under a key if it has not expired; mu is held.
func (s *Server) find(key string) *Item {
	it := s.items[key]
	if it != nil && !it.Expires.IsZero() && !s.now().Before(it.Expires) {
		delete(s.items, key)
		return nil
	}
	return it
}

// put stores an item; mu is held.
func (s *Server) put(key string, it *Item) {
	s.cas++
	it.CAS = s.cas
	s.items[key] = it
}
