package forward

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/fluent/forwardtest"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// The digests of the protocol's description, with short parts.
func TestDigests(t *testing.T) {
	f := func(want string, parts ...string) {
		t.Helper()
		if got := digest(parts...); got != want {
			t.Errorf("digest(%q) = %s; want %s", parts, got, want)
		}
	}
	f("3e248aa088bb87580dd4d9dadb22c4a0335df68b0741d007d17ec8005aeb9998e843e2a85c37bd98d796ff5e2bd5e616e2c5fa1c72deb0a074e05ece1705ecba",
		"salt", "client", "nonce", "key")
	f("2afe4837de10158d3f7348594e36052dda8b604fe7d58927a4ad32d3aef82a39d170b8b7fc5f7ac42b64e8e37edc18d5a4d871c4fb13080a6ac69a36b5c7f798",
		"auth", "user", "pass")
}

func TestHandshake(t *testing.T) {
	f := func(s forwardtest.Security, o Options, b forwardtest.Behaviour, want string) {
		t.Helper()
		r := forwardtest.New(t, forwardtest.Options{Security: &s})
		r.Behave(b)
		o.Network, o.Address = "tcp", r.Address()
		c, err := Dial(t.Context(), &o)
		if err != nil {
			if want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want %q", err, want)
			}
			return
		}
		defer c.Abort()
		if want != "" {
			t.Errorf("no error; want %q", want)
		}
		if err := c.Write(message(2, "AA==")); err != nil {
			t.Fatal(err)
		}
		if id, err := c.ReadAck(); id != "AA==" || err != nil || r.Total() != 2 {
			t.Errorf("acknowledged %q, %v; %d events; %v", id, err, r.Total(), r.Errors())
		}
	}
	users := map[string]string{"u": "p"}
	well := forwardtest.Behaviour{}
	for _, text := range []bool{false, true} {
		f(forwardtest.Security{SharedKey: "k", Text: text}, Options{SharedKey: "k", Hostname: "c"}, well, "")
		f(forwardtest.Security{SharedKey: "k", Text: text}, Options{SharedKey: "k", Hostname: "c", Username: "u", Password: "p"}, well, "")
		f(forwardtest.Security{SharedKey: "k", Text: text, Users: users}, Options{SharedKey: "k", Hostname: "c", Username: "u", Password: "p"}, well, "")
		f(forwardtest.Security{SharedKey: "k", Text: text, Users: users}, Options{SharedKey: "k", Hostname: "c", Username: "u", Password: "q"}, well, "username/password mismatch")
		f(forwardtest.Security{SharedKey: "k", Text: text, Users: users}, Options{SharedKey: "k", Hostname: "c"}, well, "username/password mismatch")
		f(forwardtest.Security{SharedKey: "k", Text: text}, Options{SharedKey: "k", Hostname: "c"}, forwardtest.Behaviour{Deny: "anonymous source host denied"}, `refused: "anonymous source host denied"`)
	}
	f(forwardtest.Security{SharedKey: "k"}, Options{SharedKey: "other", Hostname: "c"}, well, "shared_key mismatch")
	f(forwardtest.Security{SharedKey: "k", Text: true}, Options{SharedKey: "other", Hostname: "c"}, well, "another shared key")
	f(forwardtest.Security{SharedKey: "k"}, Options{SharedKey: "k", Hostname: strings.Repeat("c", 1000)}, well, "PING has")
	for _, hello := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\x92\xa4HELO\x80", "\x92\xa4HELO\xc0", "\x92\xa4HELO\x81\xa5nonce\x01",
		"\x91\xa4HELO", "\x92\xa4PONG\x80", "\xc1", "\x93\xa4HELO\x80\x80", "\x92\xa4HELO\x81\x01\x01", strings.Repeat("\x91", 5000)} {
		f(forwardtest.Security{SharedKey: "k"}, Options{SharedKey: "k", Hostname: "c"}, forwardtest.Behaviour{Hello: []byte(hello)}, "HELO")
	}
}

func TestKeepaliveOfHello(t *testing.T) {
	for _, closes := range []bool{false, true} {
		r := forwardtest.New(t, forwardtest.Options{Security: &forwardtest.Security{SharedKey: "k"}, NoKeepalive: closes})
		c := dial(t, Options{Network: "tcp", Address: r.Address(), SharedKey: "k", Hostname: "c"})
		if c.Keepalive() == closes {
			t.Errorf("keepalive is %v of a server that closes after one message: %v", c.Keepalive(), closes)
		}
	}
}

// pong is an answer that the table of TestHandshake does not contain.
func TestPong(t *testing.T) {
	h := hello{nonce: "n"}
	f := func(want string, elems ...any) {
		t.Helper()
		b := msgpack.AppendArrayLen(nil, len(elems))
		for _, e := range elems {
			switch e := e.(type) {
			case string:
				b = msgpack.AppendString(b, e)
			case bool:
				b = msgpack.AppendBool(b, e)
			}
		}
		o := Options{SharedKey: "k", Hostname: "c"}
		err := o.checkPong(msgpack.NewReader(b), h, "s")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("PONG %v: %v; want %q", elems, err, want)
		}
	}
	proof := digest("s", "server", "n", "k")
	f("", "PONG", true, "", "server", proof)
	f("does not have the shared key", "PONG", true, "", "server", digest("s", "server", "n", "other"))
	f("does not have the shared key", "PONG", true, "", "server", "")
	f("own hostname", "PONG", true, "", "c", digest("s", "c", "n", "k"))
	f(`refused: "why"`, "PONG", false, "why", "", "")
	f("something else", "PING", true, "", "server", proof)
	f("no PONG", "PONG", true)
	f("PONG: ", "PONG", "yes", "", "server", proof)
	f("PONG: ", "PONG", true, false, "server", proof)
}

func TestServerWantsKey(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{Security: &forwardtest.Security{SharedKey: "k"}})
	c := dial(t, Options{Network: "tcp", Address: r.Address()})
	if _, err := c.ReadAck(); !errors.Is(err, ErrKeyRequired) {
		t.Errorf("read %v", err)
	}
}

func TestInvalidAcknowledgements(t *testing.T) {
	f := func(sent, want string) {
		t.Helper()
		_, err := readAck([]byte(sent))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %.20q: %v; want %q", sent, err, want)
		}
	}
	f("", "EOF")
	f("\x81\xa3ack", "EOF")
	f("\x80", "without an acknowledgement")
	f("\x81\xa1a\xa1x", "without an acknowledgement")
	f("\x81\xa3ack\x01", "expected")
	f("\x81\x01\xa1x", "expected")
	f("\x91\x80", "an array")
	f("\x90", "an array")
	f("HTTP/1.1 400", "no acknowledgement")
	f("\xc1", "invalid MessagePack")
	f("\xdb\xff\xff\xff\xff"+strings.Repeat("x", 5000), "more than 4096 bytes")
	f("\xdd\xff\xff\xff\xff"+strings.Repeat("\xc0", 5000), "more than 4096 bytes")
}

// readAck reads from a server that sends b and closes.
func readAck(b []byte) (string, error) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		_, _ = server.Write(b)
		_ = server.Close()
	}()
	return newConn(client, &Options{}).ReadAck()
}

func TestAcknowledgementAmongOthers(t *testing.T) {
	if id, err := readAck([]byte("\x82\xa1a\x91\xc0\xa3ack\xc4\x01x")); id != "x" || err != nil {
		t.Errorf("acknowledged %q, %v", id, err)
	}
}
