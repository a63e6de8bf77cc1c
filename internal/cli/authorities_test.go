package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// certFiles returns the keys cert and key for a certificate that is valid for an hour.
func certFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("cert: %s, key: %s", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
}

// TestACMEManagers checks that listeners with the same settings share a manager, and that
// reloads close those that are no longer used. The authority can't be reached.
func TestACMEManagers(t *testing.T) {
	dir := t.TempDir()
	with := func(secure string) string {
		return head + strings.Replace(orders, "auth:", "dax: {listen: \"127.0.0.1:0\", lists: "+filepath.Join(dir, "lists")+"}, tls: {"+secure+"}, auth:", 1)
	}
	const refused = "directory: \"https://127.0.0.1:1/dir\", cache: "
	obtained := func(domain string) string {
		return fmt.Sprintf("acme: {domains: [%s], %s%s}", domain, refused, filepath.Join(dir, "acme"))
	}
	files := certFiles(t)
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
	expires := func() time.Duration {
		t.Helper()
		at := r.find("orders").certs.expires()
		if at == 0 {
			return 0
		}
		return time.Until(time.Unix(int64(at), 0)).Round(time.Hour)
	}
	first := f(1, false)
	if got := expires(); got != 0 {
		t.Errorf("without a certificate it expires in %v", got)
	}
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
	if got := expires(); got != time.Hour {
		t.Errorf("a certificate for an hour expires in %v", got)
	}
	taken := fmt.Sprintf("  other: {type: http, listen: %q, origins: [\"http://127.0.0.1:1\"]}\n", r.AdminAddr())
	if err := r.reload(with(obtained("c.example")) + taken); err == nil {
		t.Error("the address of the admin listener was accepted for another one")
	}
	f(0, true)
}
