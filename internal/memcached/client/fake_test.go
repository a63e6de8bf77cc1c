package client

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fake is a memcached in the test's process. Its replies can be split and corrupted.
type fake struct {
	t      testing.TB
	meta   bool // understands mn, mg and md
	binary bool // understands only the binary protocol
	chaos  *chaos
	// auth is the login that is required; empty: none.
	auth string
	// hangUp closes a connection after an unknown command, without a reply.
	hangUp bool
	tls    *tls.Config // nil plain

	mu       sync.Mutex
	items    map[string]*item
	l        net.Listener
	conns    map[net.Conn]bool
	closed   bool
	commands atomic.Int64
	accepted atomic.Int64
}

type item struct {
	value       []byte
	flags       uint32
	ttl         int64 // -1 for ever
	cas         uint64
	stale, sent bool
}

// start listens at address, or at any free port of loopback if it is empty.
func (f *fake) start(t testing.TB, address string) string {
	t.Helper()
	f.t = t
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	} else if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if f.tls != nil {
		l = tls.NewListener(l, f.tls)
	}
	f.mu.Lock()
	f.l, f.closed, f.conns = l, false, map[net.Conn]bool{}
	if f.items == nil {
		f.items = map[string]*item{}
	}
	f.mu.Unlock()
	go f.accept(l)
	t.Cleanup(f.stop)
	if network == "unix" {
		return "unix:" + address
	}
	return l.Addr().String()
}

func (f *fake) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		f.accepted.Add(1)
		go f.serve(nc)
	}
}

// protocol returns the protocol that a client has to be configured with.
func (f *fake) protocol() Protocol {
	if f.binary {
		return Binary
	}
	return Auto
}

// login returns the credentials that the client needs; nil: none.
func (f *fake) login() *Auth {
	user, password, ok := strings.Cut(f.auth, " ")
	if !ok {
		return nil
	}
	return &Auth{user, password}
}

// stop closes the listener and all connections, as a killed server does.
func (f *fake) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.l.Close()
	for nc := range f.conns {
		nc.Close()
	}
}

func (f *fake) put(key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.items == nil {
		f.items = map[string]*item{}
	}
	f.items[key] = &item{value: []byte(value), ttl: -1, cas: 1}
}

// session is one connection of a fake.
type session struct {
	*fake
	nc            net.Conn
	in            *bufio.Reader
	out           bytes.Buffer
	random        *rand.Rand
	authenticated bool   // has logged in
	delayed       []byte // a binary reply to send after the next one
}

func (f *fake) serve(nc net.Conn) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		nc.Close()
		return
	}
	f.conns[nc] = true
	f.mu.Unlock()
	s := &session{fake: f, nc: nc, random: rand.New(rand.NewPCG(uint64(f.accepted.Load()), 1)), authenticated: f.auth == ""}
	s.in = bufio.NewReaderSize(f.chaos.short(nc, s.random), 1<<16)
	for s.once() {
		if s.in.Buffered() == 0 && !s.flush() {
			break
		}
	}
	nc.Close()
	f.mu.Lock()
	delete(f.conns, nc)
	f.mu.Unlock()
}

// once executes one command; false ends the connection.
func (s *session) once() bool {
	if s.binary {
		return s.onceBinary()
	}
	line, err := s.in.ReadString('\n')
	if err != nil {
		return false
	}
	s.commands.Add(1)
	words := strings.Split(strings.TrimSuffix(line, "\r\n"), " ")
	from := s.out.Len()
	ok := s.execute(words)
	return s.chaos.maybeCorrupt(s, from) && ok
}

func (s *session) execute(words []string) bool {
	if !s.authenticated && words[0] != "set" {
		s.out.WriteString("CLIENT_ERROR unauthenticated\r\n")
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case words[0] == "get":
		s.get(words[1:])
	case words[0] == "version":
		s.out.WriteString("VERSION fake\r\n")
	case words[0] == "set", words[0] == "add", words[0] == "cas":
		return s.store(words)
	case words[0] == "delete":
		if s.items[words[1]] == nil {
			s.out.WriteString("NOT_FOUND\r\n")
		} else {
			delete(s.items, words[1])
			s.out.WriteString("DELETED\r\n")
		}
	case s.meta && words[0] == "mn":
		s.out.WriteString("MN\r\n")
	case s.meta && words[0] == "stats":
		s.out.WriteString("STAT maxbytes 67108864\r\nSTAT item_size_max 1048576\r\nEND\r\n")
	case s.meta && words[0] == "mg":
		s.metaGet(words)
	case s.meta && words[0] == "md":
		s.markStale(words)
	case s.hangUp:
		return false
	default:
		s.out.WriteString("ERROR\r\n")
	}
	return true
}

func (s *session) get(keys []string) {
	values := make([]string, 0, len(keys))
	for _, key := range keys {
		if it := s.items[key]; it != nil {
			values = append(values, fmt.Sprintf("VALUE %s %d %d\r\n%s\r\n", key, it.flags, len(it.value), it.value))
		}
	}
	for _, v := range s.chaos.order(s, values) {
		s.out.WriteString(v)
	}
	s.out.WriteString("END\r\n")
}

func (s *session) metaGet(words []string) {
	it := s.items[words[1]]
	if it == nil {
		s.out.WriteString([]string{"EN\r\n", "EN k" + words[1] + "\r\n"}[len(words[1])%2]) // as old and new servers do
		return
	}
	fmt.Fprintf(&s.out, "VA %d k%s f%d t%d c%d", len(it.value), words[1], it.flags, it.ttl, it.cas)
	last := words[len(words)-1]
	refresh, _ := strconv.ParseInt(strings.TrimPrefix(last, "R"), 10, 64)
	switch due := it.stale || it.ttl >= 0 && it.ttl < refresh; {
	case due && !it.sent:
		it.sent = true
		s.out.WriteString(" W")
	case due:
		s.out.WriteString(" Z")
	}
	if it.stale {
		s.out.WriteString(" X")
	}
	fmt.Fprintf(&s.out, "\r\n%s\r\n", it.value)
}

func (s *session) markStale(words []string) {
	it := s.items[words[1]]
	if it == nil {
		s.out.WriteString("NF\r\n")
		return
	}
	for _, w := range words[2:] {
		switch {
		case strings.HasPrefix(w, "C") && w[1:] != fmt.Sprint(it.cas):
			s.out.WriteString("EX\r\n")
			return
		case strings.HasPrefix(w, "T"):
			it.ttl, _ = strconv.ParseInt(w[1:], 10, 64)
		}
	}
	it.stale, it.sent = true, false
	it.cas++
	s.out.WriteString("HD\r\n")
}

// largest is the maximum size of a value.
const largest = 1<<20 - 100

func (s *session) store(words []string) bool {
	size, _ := strconv.Atoi(words[4])
	data := make([]byte, size+2)
	if _, err := io.ReadFull(s.in, data); err != nil {
		return false
	}
	flags, _ := strconv.ParseUint(words[2], 10, 32)
	ttl, _ := strconv.ParseInt(words[3], 10, 64)
	if ttl == 0 {
		ttl = -1
	}
	it := &item{value: data[:size], flags: uint32(flags), ttl: ttl, cas: uint64(s.commands.Load()) + 100}
	old := s.items[words[1]]
	switch {
	case !s.authenticated:
		if s.authenticated = string(it.value) == s.auth; !s.authenticated {
			s.out.WriteString("CLIENT_ERROR authentication failure\r\n")
			return true
		}
	case size > largest:
		s.out.WriteString("SERVER_ERROR object too large for cache\r\n")
		return true
	case words[0] == "add" && old != nil:
		s.out.WriteString("NOT_STORED\r\n")
		return true
	case words[0] == "cas" && old == nil:
		s.out.WriteString("NOT_FOUND\r\n")
		return true
	case words[0] == "cas" && words[5] != fmt.Sprint(old.cas):
		s.out.WriteString("EXISTS\r\n")
		return true
	default:
		s.items[words[1]] = it
	}
	s.out.WriteString("STORED\r\n")
	return true
}

// flush writes the replies.
func (s *session) flush() bool {
	defer s.out.Reset()
	return s.chaos.write(s.nc, s.out.Bytes(), s.random)
}
