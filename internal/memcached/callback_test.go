package memcached

import (
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// What is asked in everybody's name has no callback, whatever else the request asks for: the
// fallback may make calls itself, and a call would be stored for all.
func TestCallbackStaysOutOfWhatIsStored(t *testing.T) {
	f := func(fields ...string) {
		t.Helper()
		b := newBacked(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, r.URL.Query().Get("callback")+"[1]")
		}, minute(func(l *Location) { l.JSONP = dotted(t, jsonp.Dotted) })).listen()
		r := b.get("/a?k=1&callback=cb", fields...)
		b.settled()
		if got := b.requests(); !slices.Equal(got, []string{"GET /a?k=1"}) || r.body != "/**/cb([1]);" || b.stored("1") != "[1]" {
			t.Errorf("%q: %s, the fallback was asked %q, and stored is %q", fields, r, got, b.stored("1"))
		}
	}
	f()
	f("Connection", "upgrade", "Upgrade", "websocket")
}
