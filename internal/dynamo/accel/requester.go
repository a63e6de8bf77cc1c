package accel

import (
	"context"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/origin"
)

// Requester sends Kasoku's own requests to the origin of a service, for example those about
// the members of a cluster. It has its own connections, and no breaker or adaptive limit, so
// that these requests do not wait behind those of clients.
type Requester struct{ settings *settings }

// NewRequester returns a Requester with the origin and the credentials of cfg.
func NewRequester(cfg Config) (*Requester, error) {
	oc := cfg.Origin
	oc.Name, oc.Classify = cfg.Name, classify
	oc.Breaker, oc.Concurrency = origin.Breaker{Disabled: true}, origin.Concurrency{Disabled: true}
	oc.Prepare = sigv4.NewSigner(cfg.Credentials, cfg.Region, "dynamodb").Sign
	set := &settings{cfg: cfg}
	if err := set.connect(oc); err != nil {
		return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
	}
	return &Requester{set}, nil
}

// Call sends a request in DynamoDB's JSON protocol and returns the answer, whatever its
// status. target is the complete X-Amz-Target. The request may be sent twice.
func (r *Requester) Call(ctx context.Context, target string, body []byte) (status int, answer []byte, err error) {
	resp, err := r.settings.send(ctx, sender{}, target, body)
	if err != nil {
		return 0, nil, err
	}
	return resp.Status, resp.Body, nil
}

// Close closes the connections.
func (r *Requester) Close() { r.settings.close(nil) }
