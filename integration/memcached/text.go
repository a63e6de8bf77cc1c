package memcached

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Item is a value held by a server.
type Item struct {
	Value []byte
	Flags uint32
}

// This client of the text protocol inspects servers, and shares no code with the client
// under test.

// errAnswer reports an unexpected answer of a server.
var errAnswer = errors.New("unexpected answer")

// talk sends a command on a new connection and calls answer to read the reply.
func (s *Server) talk(command string, answer func(r *bufio.Reader) error) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	if s.login != "" {
		if _, err := fmt.Fprintf(c, "set login 0 0 %d\r\n%s\r\n", len(s.login), s.login); err != nil {
			return err
		}
		if text, err := line(r); err != nil || text != "STORED" {
			return errors.Join(fmt.Errorf("%w to a login: %q", errAnswer, text), err)
		}
	}
	if _, err := io.WriteString(c, command); err != nil {
		return err
	}
	return answer(r)
}

func (s *Server) dial() (net.Conn, error) {
	d := &net.Dialer{Timeout: 5 * time.Second}
	if path, ok := strings.CutPrefix(s.Addr, "unix:"); ok {
		return d.Dial("unix", path)
	}
	if s.tls != nil {
		return tls.DialWithDialer(d, "tcp", s.Addr, s.tls)
	}
	return d.Dial("tcp", s.Addr)
}

// line reads a line and returns it without the line end.
func line(r *bufio.Reader) (string, error) {
	text, err := r.ReadString('\n')
	return strings.TrimSuffix(text, "\r\n"), err
}

// Held returns the items that the server holds for the keys.
func (s *Server) Held(t testing.TB, keys ...string) map[string]Item {
	t.Helper()
	if s.sasl != nil {
		return s.heldBinary(t, keys)
	}
	const maxKeys = 100 // of a command
	held := map[string]Item{}
	for len(keys) > 0 {
		n := min(maxKeys, len(keys))
		if err := s.talk("get "+strings.Join(keys[:n], " ")+"\r\n", func(r *bufio.Reader) error { return readItems(r, held) }); err != nil {
			t.Fatalf("query %s: %v", s.Addr, err)
		}
		keys = keys[n:]
	}
	return held
}

func readItems(r *bufio.Reader, held map[string]Item) error {
	for {
		text, err := line(r)
		if err != nil || text == "END" {
			return err
		}
		var key string
		var item Item
		var length int
		if _, err := fmt.Sscanf(text, "VALUE %s %d %d", &key, &item.Flags, &length); err != nil {
			return fmt.Errorf("%w: %q", errAnswer, text)
		}
		block := make([]byte, length+2)
		if _, err := io.ReadFull(r, block); err != nil {
			return err
		}
		item.Value = bytes.TrimSuffix(block, []byte("\r\n"))
		held[key] = item
	}
}

// readLine returns a function that reads a reply of one line.
func readLine(answer *string) func(r *bufio.Reader) error {
	return func(r *bufio.Reader) (err error) {
		*answer, err = line(r)
		return err
	}
}

// Set stores a value for the given number of seconds; 0 means without expiry.
func (s *Server) Set(t testing.TB, key string, flags uint32, seconds int, value string) {
	t.Helper()
	s.must(t, fmt.Sprintf("set %s %d %d %d\r\n%s\r\n", key, flags, seconds, len(value), value), "STORED")
}

// Delete removes a key, which must exist.
func (s *Server) Delete(t testing.TB, key string) {
	t.Helper()
	s.must(t, "delete "+key+"\r\n", "DELETED")
}

func (s *Server) must(t testing.TB, command, want string) {
	t.Helper()
	got := s.Ask(t, command)
	if got != want {
		t.Fatalf("%s answers %.60q with %q, not %q", s.Addr, command, got, want)
	}
}

// Ask sends a command and returns the first line of the reply.
func (s *Server) Ask(t testing.TB, command string) (answer string) {
	t.Helper()
	if err := s.talk(command, readLine(&answer)); err != nil {
		t.Fatalf("%s: %.60q: %v", s.Addr, command, err)
	}
	return answer
}

// TTL returns the remaining seconds of a key, or -1 if it does not expire.
func (s *Server) TTL(t testing.TB, key string) (seconds int) {
	t.Helper()
	answer := s.Ask(t, "mg "+key+" t\r\n")
	if _, err := fmt.Sscanf(answer, "HD t%d", &seconds); err != nil {
		t.Fatalf("%s answers %q for the time left of %s", s.Addr, answer, key)
	}
	return seconds
}

// Stats returns the server's statistics.
func (s *Server) Stats(t testing.TB) map[string]string {
	t.Helper()
	stats, err := s.stats()
	if err != nil {
		t.Fatalf("stats of %s: %v", s.Addr, err)
	}
	return stats
}

func (s *Server) stats() (map[string]string, error) {
	if s.sasl != nil {
		return s.statsBinary()
	}
	stats := map[string]string{}
	return stats, s.talk("stats\r\n", func(r *bufio.Reader) error {
		for {
			text, err := line(r)
			if err != nil || text == "END" {
				return err
			}
			name, value, ok := strings.Cut(strings.TrimPrefix(text, "STAT "), " ")
			if !ok {
				return fmt.Errorf("%w: %q", errAnswer, text)
			}
			stats[name] = value
		}
	})
}
