package memcached

import (
	"testing"
	"time"
)

var status = []string{"Cache-Status"}

func TestHit(t *testing.T) {
	s := newSite(t, 3, Location{Path: "/count", Key: "${arg.user_id}::${arg.entry_id}", ContentType: "text/plain", Fallback: None})
	s.cfg.Rules.Namespace = "testapp::"
	s.start()
	s.set("100::7", "a value", 0, 0)
	s.set("100::8", "another", 0, time.Hour+time.Second/2)
	s.asks("200\nCache-Status: kasoku; hit; detail=memcached\n\na value", status, "GET /count?user_id=100&entry_id=7")
	s.asks("200\nCache-Status: kasoku; hit; ttl=3600; detail=memcached\n\nanother", status, "GET /count?user_id=100&entry_id=8")
	s.asks("404\nCache-Status: kasoku; fwd=miss; detail=missing\n\nNot Found: memcached has no such value, and there is no fallback\n",
		status, "GET /count?user_id=100&entry_id=9")
	s.asks("404\nCache-Status: kasoku; fwd=miss; detail=no-key\n\nNot Found: memcached has no such value, and there is no fallback\n",
		status, "GET /count?user_id=100")
	s.asks("404\n\nNot Found: there is no location for this path, and no fallback\n", status, "GET /counts")
	s.asks("405\nAllow: GET, HEAD\n\nMethod Not Allowed: memcached is asked with GET and HEAD, and there is no fallback\n",
		[]string{"Allow"}, "POST /count?user_id=100&entry_id=7")
}
