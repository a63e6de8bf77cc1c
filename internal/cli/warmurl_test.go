package cli

import (
	"fmt"
	"net/http"
	"testing"
)

func TestOwnCacheStatus(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "map[]",
		"kasoku; hit; ttl=7":                "map[hit:true kasoku:true ttl=7:true]",
		"cdn; hit, kasoku; fwd=miss;stored": "map[fwd=miss:true kasoku:true stored:true]",
	} {
		h := http.Header{}
		if line != "" {
			h.Add("Cache-Status", "other; hit")
			h.Add("Cache-Status", line)
		}
		if got := fmt.Sprint(ownCacheStatus(h)); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
