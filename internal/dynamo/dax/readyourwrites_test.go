package dax

import (
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
)

// TestReadYourWrites checks that requests to the origin are strongly consistent while items are
// not cached, because a replica may lag behind the client's own write.
func TestReadYourWrites(t *testing.T) {
	o := &scripted{}
	svc := newServiceOf(t, nil, accel.Origin(o), func(cfg *accel.Config, cc *cache.Config) { cfg.ItemTTL, cc.Settle = 0, time.Hour })
	r := newRig(t, func(cfg *Config) { cfg.Service = svc })
	r.serveOperations()
	c := r.hello("Go v1")
	o.setAnswer(200, `{}`)
	c.expect(putAlice+"41 01 bf ff", "80 f6")
	f := func(request, answer string) {
		t.Helper()
		o.take()
		o.setAnswer(200, answer)
		c.send(request)
		c.reply(2)
		if asked := o.take(); !strings.Contains(asked, `"ConsistentRead":true`) {
			t.Errorf("the origin received %s", asked)
		}
	}
	f(getAlice+"bf ff", `{"Item":{"pk":{"S":"alice"}}}`)
	f("013a29985cdb a1 6454616231 83 f4 f6 81 45616c696365 bf ff", `{"Responses":{"Tab1":[{"pk":{"S":"alice"}}]},"UnprocessedKeys":{}}`)
}
