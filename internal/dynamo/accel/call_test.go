package accel

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
)

// TestRecordOutlivesCall checks that the access log's record, which is written after Serve has
// returned, references nothing of the pooled call.
func TestRecordOutlivesCall(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{}`)
	x := edge.Detached(context.Background(), request("GetItem"), []byte(getA), time.Now())
	f.svc.Serve(x)
	for range 8 {
		f.do("GetItem", strings.Replace(getA, `"t"`, `"other"`, 1))
	}
	if got := string(x.Record.Table); got != "t" {
		t.Errorf("the record's table was changed to %q", got)
	}
}
