package forwardtest

import (
	"testing"

	"github.com/tinylib/msgp/msgp"
)

// TestDigests checks the digests of the protocol's description, with short parts.
func TestDigests(t *testing.T) {
	const key = "3e248aa088bb87580dd4d9dadb22c4a0335df68b0741d007d17ec8005aeb9998e843e2a85c37bd98d796ff5e2bd5e616e2c5fa1c72deb0a074e05ece1705ecba"
	const user = "2afe4837de10158d3f7348594e36052dda8b604fe7d58927a4ad32d3aef82a39d170b8b7fc5f7ac42b64e8e37edc18d5a4d871c4fb13080a6ac69a36b5c7f798"
	if got := digest("salt", "client", "nonce", "key"); got != key {
		t.Errorf("shared key digest %s", got)
	}
	if got := digest("auth", "user", "pass"); got != user {
		t.Errorf("user digest %s", got)
	}
}

func TestHandshake(t *testing.T) {
	// f authenticates with key and password, and compares PONG's verdict and reason.
	f := func(s *Security, key, user, password, wantReason string) {
		t.Helper()
		r := New(t, Options{Security: s})
		c := dial(t, r)
		in := msgp.NewReader(c)
		v, err := in.ReadIntf()
		if err != nil {
			t.Fatal(err)
		}
		params := v.([]any)[1].(map[string]any)
		text := func(v any) string {
			if s, ok := v.(string); ok != r.opt.Security.Text {
				t.Errorf("HELO has a %T", v)
				return s
			}
			if b, ok := v.([]byte); ok {
				return string(b)
			}
			return v.(string)
		}
		nonce, auth := text(params["nonce"]), text(params["auth"])
		b := msgp.AppendArrayHeader(nil, 6)
		for _, part := range []string{"PING", "client", "salt", digest("salt", "client", nonce, key), user, digest(auth, user, password)} {
			b = msgp.AppendString(b, part)
		}
		send(t, c, b)
		if v, err = in.ReadIntf(); err != nil {
			t.Fatal(err)
		}
		pong := v.([]any)
		if pong[1] != (wantReason == "") || pong[2] != wantReason {
			t.Errorf("PONG %v; want reason %q", pong, wantReason)
		}
		if wantReason == "" && (pong[3] != "server.test" || pong[4] != digest("salt", "server.test", nonce, key)) {
			t.Errorf("PONG %v has a wrong digest", pong)
		}
	}
	f(&Security{SharedKey: "key"}, "key", "", "", "")
	f(&Security{SharedKey: "key"}, "other", "", "", "shared_key mismatch")
	f(&Security{SharedKey: "key", Text: true}, "key", "", "", "")
	f(&Security{SharedKey: "key", Users: map[string]string{"u": "p"}}, "key", "u", "p", "")
	f(&Security{SharedKey: "key", Users: map[string]string{"u": "p"}}, "key", "u", "q", "username/password mismatch")
	f(&Security{SharedKey: "key", Users: map[string]string{"u": "p"}}, "key", "v", "p", "username/password mismatch")
	f(&Security{SharedKey: "key", Hostname: "client"}, "key", "", "", "the client has the name of the server")
}
