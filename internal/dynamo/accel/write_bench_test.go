package accel

import (
	"context"
	"log/slog"
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
type ready struct{}

func (ready) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	body := "{}"
	for _, f := range r.Header {
		if string(f.Value) == targetPrefix+"DescribeTable" {
			body = describePlain
		}
	}
	return &origin.Response{Status: 200, Body: []byte(body), Class: origin.Good, Attempts: 1}, nil
}
func (ready) State() origin.State { return origin.State{} }
func (ready) Close()              {}

func BenchmarkPutItem(b *testing.B) {
	c, err := cache.New(cache.Config{Memory: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	space, err := c.NewSpace(0)
	if err != nil {
		b.Fatal(err)
	}
	svc, err := New(Config{
		Name: "orders", Region: "us-east-1", Origin: origin.Config{URL: "http://origin.test"}, Open: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     time.Hour, QueryTTL: time.Hour, NegativeTTL: time.Hour,
		Connect: func(origin.Config) (Origin, error) { return ready{}, nil },
	}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
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
