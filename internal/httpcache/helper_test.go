package httpcache

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

const kib = 1 << 10

var options = policy.Defaults()

// bubble runs f on a clock of its own, and fails if a goroutine is still running after f.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func text(o *store.Object) string {
	var b strings.Builder
	o.Body.WriteRange(&b, 0, o.Body.Len())
	return b.String()
}
