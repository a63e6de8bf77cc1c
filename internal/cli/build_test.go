package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/config"
)

// TestSettleTimes checks that services whose writes may have an unknown outcome quarantine
// the written keys, with any other settings.
func TestSettleTimes(t *testing.T) {
	const (
		web   = `{type: http, listen: "127.0.0.1:0", origins: ["http://a"]}`
		couch = `{type: couchdb, listen: "127.0.0.1:0", nodes: ["http://a"]}`
		store = `{type: dynamodb, listen: "127.0.0.1:0", origin: "http://a", region: local, auth: {mode: none}, settle: 2s, quarantine: %s}`
	)
	f := func(services string, settle, quarantine time.Duration) {
		t.Helper()
		c, err := config.Parse("k.yaml", []byte("services: {"+services+"}"), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		if s, q := settleTimes(c); s != settle || q != quarantine {
			t.Errorf("got settle %s and quarantine %s, want %s and %s", s, q, settle, quarantine)
		}
	}
	f("a: "+web, 1, 30*time.Second)
	f("a: "+couch, 1, 30*time.Second)
	f("a: "+fmt.Sprintf(store, "10s"), 2*time.Second, 10*time.Second)
	f("a: "+fmt.Sprintf(store, "10s")+", b: "+couch, 2*time.Second, 30*time.Second)
	f("a: "+fmt.Sprintf(store, "1m")+", b: "+web, 2*time.Second, time.Minute)
}
