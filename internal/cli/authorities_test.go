package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// TestACMEManagers checks that listeners with the same settings share a manager, and that
// reloads close those that are no longer used. The authority can't be reached.
func TestACMEManagers(t *testing.T) {
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(secure string) string {
		return head + strings.Replace(orders, "auth:", "dax: {listen: \"127.0.0.1:0\", lists: "+filepath.Join(dir, "lists")+"}, tls: {"+secure+"}, auth:", 1)
	}
	const refused = "directory: \"https://127.0.0.1:1/dir\", cache: "
	obtained := func(domain string) string {
		return fmt.Sprintf("acme: {domains: [%s], %s%s}", domain, refused, filepath.Join(dir, "acme"))
	}
	files := fmt.Sprintf("cert: %s, key: %s", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	r := run(t, with(obtained("a.example")))
	handshake := func() error {
		c, err := tls.Dial("tcp", r.ServiceAddr("orders").String(), &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	f := func(managers int, serves bool) authority {
		t.Helper()
		list := r.authorities.all()
		if len(list) != managers {
			t.Fatalf("%d managers, want %d", len(list), managers)
		}
		if err := handshake(); (err == nil) != serves {
			t.Errorf("handshake: %v", err)
		}
		if managers == 0 {
			return authority{}
		}
		return list[0]
	}
	first := f(1, false)
	r.mustReload(with(obtained("a.example")))
	if again := f(1, false); again.manager != first.manager {
		t.Error("a reload without a change has replaced the manager")
	}
	r.mustReload(with(obtained("b.example")))
	if second := f(1, false); second.manager == first.manager {
		t.Error("other domains have the old manager")
	}
	r.mustReload(with(files))
	f(0, true)
	taken := fmt.Sprintf("  other: {type: http, listen: %q, origins: [\"http://127.0.0.1:1\"]}\n", r.AdminAddr())
	if err := r.reload(with(obtained("c.example")) + taken); err == nil {
		t.Error("the address of the admin listener was accepted for another one")
	}
	f(0, true)
}
