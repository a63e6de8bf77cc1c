package forwardtest

import (
	"crypto/rand"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tinylib/msgp/msgp"
)

// Security makes the receiver require a handshake.
type Security struct {
	SharedKey string
	Hostname  string            // the server's own name; default "server.test"
	Users     map[string]string // names and passwords; nil: without users

	// Text behaves like Fluent Bit: nonce and auth are str rather than bin, HELO has no
	// keepalive, the PING must be shorter than 1,024 bytes with a salt of type str, and a
	// wrong key closes the connection without a PONG.
	Text bool
}

func (s *Security) hostname() string {
	if s.Hostname == "" {
		return "server.test"
	}
	return s.Hostname
}

// greet performs the handshake, if one is configured.
func (c *conn) greet(in *msgp.Reader) error {
	s := c.r.opt.Security
	if c.behaviour.Hello != nil {
		if _, err := c.Conn.Write(c.behaviour.Hello); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	nonce, auth := make([]byte, 16), make([]byte, 16)
	_, _ = rand.Read(nonce)
	_, _ = rand.Read(auth)
	if s.Text {
		nonce, auth = []byte(hex.EncodeToString(nonce)), []byte(hex.EncodeToString(auth))
		if s.Users == nil {
			auth = nil
		}
	}
	if c.behaviour.Hello == nil {
		if _, err := c.Conn.Write(hello(s, nonce, auth, !c.r.opt.NoKeepalive)); err != nil {
			return err
		}
	}
	p, err := readPing(in)
	if err != nil {
		return err
	}
	return c.answer(s, p, nonce, auth)
}

func hello(s *Security, nonce, auth []byte, keepalive bool) []byte {
	b := msgp.AppendArrayHeader(nil, 2)
	b = msgp.AppendString(b, "HELO")
	if s.Text {
		b = msgp.AppendMapHeader(b, 2)
		b = msgp.AppendString(b, "nonce")
		b = msgp.AppendString(b, string(nonce))
		b = msgp.AppendString(b, "auth")
		return msgp.AppendString(b, string(auth))
	}
	b = msgp.AppendMapHeader(b, 3)
	b = msgp.AppendString(b, "nonce")
	b = msgp.AppendBytes(b, nonce)
	b = msgp.AppendString(b, "auth")
	b = msgp.AppendBytes(b, auth)
	b = msgp.AppendString(b, "keepalive")
	return msgp.AppendBool(b, keepalive)
}

// ping is a client's PING.
type ping struct {
	hostname, user           string
	keyDigest, userDigest    string
	salt                     string
	saltIsText, long, isPing bool
}

func readPing(in *msgp.Reader) (p ping, err error) {
	v, err := in.ReadIntf()
	if err != nil {
		return p, err
	}
	list, _ := v.([]any)
	p.isPing = len(list) == 6 && list[0] == "PING"
	if !p.isPing {
		return p, nil
	}
	size := 16
	text := func(i int) string {
		switch s := list[i].(type) {
		case string:
			size += len(s) + 3
			return s
		case []byte:
			size += len(s) + 3
			return string(s)
		}
		p.isPing = false
		return ""
	}
	_, p.saltIsText = list[2].(string)
	p.hostname, p.salt, p.keyDigest, p.user, p.userDigest = text(1), text(2), text(3), text(4), text(5)
	p.long = size > 1023
	return p, nil
}

// answer sends PONG. An error ends the connection.
func (c *conn) answer(s *Security, p ping, nonce, auth []byte) error {
	reason := ""
	switch {
	case !p.isPing:
		reason = "invalid ping message"
	case c.behaviour.Deny != "":
		reason = c.behaviour.Deny
	case s.Text && (p.long || !p.saltIsText):
		return errors.New("PING is longer than 1,023 bytes, or its salt is not str")
	case p.hostname == s.hostname():
		reason = "the client has the name of the server"
	case p.keyDigest != digest(p.salt, p.hostname, string(nonce), s.SharedKey):
		if s.Text {
			return errors.New("shared_key mismatch, closed without a PONG")
		}
		reason = "shared_key mismatch"
	case s.Users != nil && !s.verify(p, auth):
		reason = "username/password mismatch"
	}
	b := msgp.AppendArrayHeader(nil, 5)
	b = msgp.AppendString(b, "PONG")
	b = msgp.AppendBool(b, reason == "")
	b = msgp.AppendString(b, reason)
	if reason != "" {
		b = msgp.AppendString(b, "")
		b = msgp.AppendString(b, "")
		_, _ = c.Conn.Write(b)
		return fmt.Errorf("handshake refused: %s", reason)
	}
	b = msgp.AppendString(b, s.hostname())
	b = msgp.AppendString(b, digest(p.salt, s.hostname(), string(nonce), s.SharedKey))
	_, err := c.Conn.Write(b)
	return err
}

func (s *Security) verify(p ping, auth []byte) bool {
	password, ok := s.Users[p.user]
	return ok && p.userDigest == digest(string(auth), p.user, password)
}

// digest returns the SHA-512 of the concatenated parts in hexadecimal.
func digest(parts ...string) string {
	h := sha512.New()
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}
