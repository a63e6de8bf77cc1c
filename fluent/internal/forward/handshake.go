package forward

import (
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// maxPing is the maximum length of a PING that Fluent Bit accepts.
const maxPing = 1023

// handshake reads HELO, sends PING and checks PONG. It is bounded by the connection's
// deadline.
func (c *Conn) handshake() error {
	r, err := c.value()
	if err != nil {
		return fmt.Errorf("handshake: waiting for HELO (does the server require a shared key?): %w", err)
	}
	h, err := readHello(r)
	if err != nil {
		return fmt.Errorf("handshake: HELO: %w", err)
	}
	c.keepalive = h.keepalive

	salt := newSalt()
	ping, err := c.o.ping(h, salt)
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if _, err := c.Conn.Write(ping); err != nil {
		return fmt.Errorf("handshake: PING: %w", err)
	}
	r, err = c.value()
	if errors.Is(err, io.EOF) {
		return errors.New("handshake: server closed the connection after PING: it has another shared key, or refuses this host")
	}
	if err != nil {
		return fmt.Errorf("handshake: waiting for PONG: %w", err)
	}
	if err := c.o.checkPong(r, h, salt); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}

// hello is a server's first message.
type hello struct {
	nonce, auth string // auth is empty if no user is required
	keepalive   bool
}

func isHello(r msgpack.Reader) bool {
	n, err := r.ArrayLen()
	if err != nil || n < 1 {
		return false
	}
	word, err := r.Bytes()
	return err == nil && string(word) == "HELO"
}

func readHello(r msgpack.Reader) (h hello, err error) {
	if !isHello(r) {
		return h, errors.New("server sent something else")
	}
	h.keepalive = true
	if n, err := r.ArrayLen(); err != nil || n != 2 {
		return h, fmt.Errorf("an array of %d, not 2", n)
	}
	if err := r.Skip(); err != nil {
		return h, err
	}
	pairs, err := r.MapLen()
	if err != nil {
		return h, err
	}
	for range pairs {
		key, err := r.String()
		if err != nil {
			return h, err
		}
		switch key {
		case "nonce":
			h.nonce, err = r.String()
		case "auth":
			h.auth, err = r.String()
		case "keepalive":
			h.keepalive, err = r.Bool()
		default:
			err = r.Skip()
		}
		if err != nil {
			return h, fmt.Errorf("%s: %w", key, err)
		}
	}
	if h.nonce == "" { // a digest without a nonce could be replayed
		return h, errors.New("no nonce")
	}
	return h, nil
}

// newSalt returns the salt of a PING: text, because Fluent Bit accepts no other.
func newSalt() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (o *Options) ping(h hello, salt string) ([]byte, error) {
	user, password := "", ""
	if h.auth != "" && o.Username != "" {
		user, password = o.Username, digest(h.auth, o.Username, o.Password)
	}
	b := msgpack.AppendArrayLen(nil, 6)
	b = msgpack.AppendString(b, "PING")
	b = msgpack.AppendString(b, o.Hostname)
	b = msgpack.AppendString(b, salt)
	b = msgpack.AppendString(b, digest(salt, o.Hostname, h.nonce, o.SharedKey))
	b = msgpack.AppendString(b, user)
	b = msgpack.AppendString(b, password)
	if len(b) > maxPing {
		return nil, fmt.Errorf("PING has %d bytes, more than %d: hostname or user name is too long", len(b), maxPing)
	}
	return b, nil
}

// checkPong checks the verdict before the digest, which a refusing server leaves empty.
func (o *Options) checkPong(r msgpack.Reader, h hello, salt string) error {
	n, err := r.ArrayLen()
	if err != nil || n != 5 {
		return fmt.Errorf("server sent no PONG (%d elements, %v)", n, err)
	}
	word, _ := r.String()
	if word != "PONG" {
		return errors.New("server sent something else than PONG")
	}
	ok, err := r.Bool()
	if err != nil {
		return fmt.Errorf("PONG: %w", err)
	}
	var text [3]string // reason, the server's name, digest
	for i := range text {
		if text[i], err = r.String(); err != nil {
			return fmt.Errorf("PONG: %w", err)
		}
	}
	reason, name, proof := text[0], text[1], text[2]
	switch want := digest(salt, name, h.nonce, o.SharedKey); {
	case !ok:
		return fmt.Errorf("server refused: %q", reason)
	case name == o.Hostname:
		return fmt.Errorf("server has the client's own hostname %q: set another one", name)
	case subtle.ConstantTimeCompare([]byte(proof), []byte(want)) != 1:
		return fmt.Errorf("server %q does not have the shared key", name)
	}
	return nil
}

// digest returns the hexadecimal SHA-512 of the concatenated parts.
func digest(parts ...string) string {
	h := sha512.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
