package memcachedtest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// once executes one command. It reports false to end the connection.
func (s *Server) once(in *bufio.Reader, out *bufio.Writer) bool {
	line, err := in.ReadString('\n')
	if err != nil {
		return false
	}
	line = strings.TrimRight(line, "\r\n")
	words := strings.Split(line, " ")
	var data string
	switch words[0] {
	case "set", "add", "cas":
		if data, err = block(in, words); err != nil {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, line)
	if s.script != nil {
		if reply, scripted := s.script(line); scripted {
			_, err = out.WriteString(reply)
			return err == nil
		}
	}
	_, err = out.WriteString(s.execute(words, data))
	return err == nil
}

// block reads the data block of a storage command.
func block(in *bufio.Reader, words []string) (string, error) {
	if len(words) < 5 {
		return "", io.ErrUnexpectedEOF
	}
	n, err := strconv.Atoi(words[4])
	if err != nil {
		return "", err
	}
	data := make([]byte, n+2)
	_, err = io.ReadFull(in, data)
	return string(data[:n]), err
}

// execute returns the reply to a command; mu is held.
func (s *Server) execute(words []string, data string) string {
	switch words[0] {
	case "version":
		return "VERSION 1.6.0\r\n"
	case "get":
		return s.get(words[1:])
	case "set", "add", "cas":
		return s.store(words, data)
	case "delete":
		if s.find(words[1]) == nil {
			return "NOT_FOUND\r\n"
		}
		delete(s.items, words[1])
		return "DELETED\r\n"
	}
	if s.meta {
		switch words[0] {
		case "mn":
			return "MN\r\n"
		case "stats":
			return "STAT maxbytes 67108864\r\nSTAT item_size_max 1048576\r\nEND\r\n"
		case "mg":
			return s.metaGet(words)
		case "md":
			return s.markStale(words)
		}
	}
	return "ERROR\r\n"
}

func (s *Server) get(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		if it := s.find(key); it != nil {
			fmt.Fprintf(&b, "VALUE %s %d %d\r\n%s\r\n", key, it.Flags, len(it.Value), it.Value)
		}
	}
	return b.String() + "END\r\n"
}

// store executes set, add and cas.
func (s *Server) store(words []string, data string) string {
	key := words[1]
	flags, _ := strconv.ParseUint(words[2], 10, 32)
	ttl, _ := strconv.ParseInt(words[3], 10, 64)
	old := s.find(key)
	switch {
	case len(data) > 1<<20-100:
		return "SERVER_ERROR object too large for cache\r\n"
	case words[0] == "add" && old != nil:
		return "NOT_STORED\r\n"
	case words[0] == "cas" && old == nil:
		return "NOT_FOUND\r\n"
	case words[0] == "cas" && words[5] != strconv.FormatUint(old.CAS, 10):
		return "EXISTS\r\n"
	}
	it := &Item{Value: data, Flags: uint32(flags)}
	if ttl > 0 {
		it.Expires = s.now().Add(time.Duration(ttl) * time.Second)
	}
	s.put(key, it)
	return "STORED\r\n"
}

// metaGet executes mg. With R, one reader must renew the value, and others are informed of
// that.
func (s *Server) metaGet(words []string) string {
	it := s.find(words[1])
	if it == nil {
		return "EN k" + words[1] + "\r\n" // in the format of 1.6.18
	}
	ttl := int64(-1)
	if !it.Expires.IsZero() {
		ttl = int64(it.Expires.Sub(s.now()) / time.Second)
	}
	b := fmt.Sprintf("VA %d", len(it.Value))
	due := it.Stale
	for _, w := range words[2:] {
		switch w[0] {
		case 'k':
			b += " k" + words[1]
		case 'f':
			b += fmt.Sprintf(" f%d", it.Flags)
		case 't':
			b += fmt.Sprintf(" t%d", ttl)
		case 'c':
			b += fmt.Sprintf(" c%d", it.CAS)
		case 'R':
			n, _ := strconv.ParseInt(w[1:], 10, 64)
			due = due || ttl >= 0 && ttl < n
		}
	}
	switch {
	case due && !it.won:
		it.won = true
		b += " W"
	case due:
		b += " Z"
	}
	if it.Stale {
		b += " X"
	}
	return b + "\r\n" + it.Value + "\r\n"
}

// markStale executes md with I.
func (s *Server) markStale(words []string) string {
	it := s.find(words[1])
	if it == nil {
		return "NF\r\n"
	}
	for _, w := range words[2:] {
		switch {
		case w[0] == 'C' && w[1:] != strconv.FormatUint(it.CAS, 10):
			return "EX\r\n"
		case w[0] == 'T':
			n, _ := strconv.ParseInt(w[1:], 10, 64)
			it.Expires = s.now().Add(time.Duration(n) * time.Second)
		}
	}
	it.Stale, it.won = true, false
	s.put(words[1], it)
	return "HD\r\n"
}
