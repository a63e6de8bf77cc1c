package dax

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/origin"
)

// resetting is an origin that asks for the connections of clients to be closed.
type resetting struct{ *scripted }

func (o resetting) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	if strings.HasSuffix(string(r.Header.Get("X-Amz-Target")), "DescribeTable") {
		return o.scripted.Do(ctx, r)
	}
	return nil, &origin.Fault{Kind: origin.Reset, Hangup: true, Err: errors.New("a fault")}
}

// TestHangup checks that a connection is closed without a reply if the origin asks for that.
func TestHangup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newServiceOf(t, nil, accel.Origin(resetting{&scripted{}}))
		r := newRig(t, func(cfg *Config) { cfg.Service = svc })
		r.serveOperations()
		for range 2 { // the second one gets a pooled call
			c := r.hello("Go v1")
			c.send(getAlice + "bfff")
			c.expectEnd()
		}
	})
}
