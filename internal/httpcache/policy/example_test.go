package policy_test

import (
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// A response with a max-age of a minute answers requests for a minute, except requests
// with no-cache.
func Example() {
	options := policy.Defaults()
	received := policy.MomentOf(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	stored := policy.ParseResponse(200, http1.FieldsOf("Cache-Control", "max-age=60"), received, received, &options)

	decide := func(after time.Duration, fields ...string) {
		var q policy.Request
		policy.ParseRequest(&q, []byte("GET"), http1.FieldsOf(fields...), &options)
		d := policy.Decide(&q, &stored, policy.Unmarked, received.Add(after), &options)
		fmt.Println(d.Action == policy.Use, d.Reason, d.Age)
	}
	decide(10 * time.Second)
	decide(10*time.Second, "Cache-Control", "no-cache")
	decide(70 * time.Second)
	// Output:
	// true fresh 10
	// false request-no-cache 10
	// false stale 70
}
