package accel

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// ready is an origin that answers every request at once, so that only the service's own cost
// is measured.
type ready struct{ answer string }

func (o ready) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	body := o.answer
	for _, f := range r.Header {
		if string(f.Value) == targetPrefix+"DescribeTable" {
			body = describePlain
		}
	}
	return &origin.Response{Status: 200, Body: []byte(body), Class: origin.Good, Attempts: 1}, nil
}
func (ready) State() origin.State { return origin.State{} }
func (ready) Close()              {}

// newReady returns a service before an origin that is ready with an answer.
func newReady(b *testing.B, answer string) *Service {
	b.Helper()
	c, err := cache.New(cache.Config{Memory: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		b.Fatal(err)
	}
	svc, err := New(Config{
		Name: "orders", Region: "us-east-1", Origin: origin.Config{URL: "http://origin.test"}, Open: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     time.Hour, QueryTTL: time.Hour, NegativeTTL: time.Hour,
		Connect: func(origin.Config) (Origin, error) { return ready{answer}, nil },
	}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return svc
}

// A request for an item that is not cached.
func BenchmarkGetItemMiss(b *testing.B) {
	svc := newReady(b, `{"Item":{"p":{"S":"a"},"text":{"S":"`+strings.Repeat("x", 1400)+`"}}}`)
	var body []byte
	x := edge.Detached(context.Background(), request("GetItem"), nil, time.Now())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body = fmt.Appendf(body[:0], `{"TableName":"t","Key":{"p":{"S":"%d"}}}`, i)
		x.Body = body
		x.Reply.Reset()
		svc.Serve(x)
	}
	if x.Record.Decision != telemetry.Miss {
		b.Fatalf("got the decision %v", x.Record.Decision)
	}
}

func BenchmarkPutItem(b *testing.B) {
	svc := newReady(b, "{}")
	put := []byte(`{"TableName":"t","Item":{"p":{"S":"a"},"n":{"N":"12345"},"v":{"S":"some text of a usual length, for a benchmark"},"m":{"M":{"x":{"N":"1"},"y":{"S":"z"}}}}}`)
	x := edge.Detached(context.Background(), request("PutItem"), put, time.Now())
	b.ReportAllocs()
	for b.Loop() {
		x.Reply.Reset()
		svc.Serve(x)
	}
	if x.Record.Decision != telemetry.Write {
		b.Fatalf("got the decision %v", x.Record.Decision)
	}
}

// describePlain is the description of a table with a partition key only.
const describePlain = `{"Table":{"TableName":"t","TableId":"1","TableStatus":"ACTIVE",
 "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}}`
