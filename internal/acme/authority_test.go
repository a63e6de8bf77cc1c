package acme

import (
	"strings"
	"testing"

	"golang.org/x/crypto/acme"
)

func TestChoose(t *testing.T) {
	f := func(failures int, offered, want string) {
		t.Helper()
		var list []*acme.Challenge
		for name := range strings.FieldsSeq(offered) {
			list = append(list, &acme.Challenge{Type: name})
		}
		got := "none"
		if c := choose(list, failures); c != nil {
			got = c.Type
		}
		if got != want {
			t.Errorf("of %q after %d failures: %s, want %s", offered, failures, got, want)
		}
	}
	f(0, "dns-01 http-01 tls-alpn-01", "tls-alpn-01")
	f(1, "dns-01 http-01 tls-alpn-01", "http-01")
	f(2, "dns-01 http-01 tls-alpn-01", "tls-alpn-01")
	f(0, "http-01", "http-01")
	f(1, "tls-alpn-01", "tls-alpn-01")
	f(0, "dns-01", "none")
	f(0, "", "none")
}
