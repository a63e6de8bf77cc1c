package accel

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// store is an origin in this process. It builds its responses in the buffer passed with a
// request, and records its requests.
type store struct {
	t      *testing.T
	answer string
	asked  []string
}

func (s *store) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	op, _ := strings.CutPrefix(string(r.Header.Get("X-Amz-Target")), targetPrefix)
	if ctx.Done() != nil && op != "DescribeTable" { // which is shared by all waiters
		s.t.Errorf("the context of %s can be cancelled", op)
	}
	s.asked = append(s.asked, op+" at "+string(r.Header.Get("Host"))+" in "+strconv.FormatBool(r.Buf != nil))
	answer := s.answer
	if op == "DescribeTable" {
		answer = describePlain
	}
	return &origin.Response{Status: 200, Body: append(r.Buf, answer...), Class: origin.Good, Attempts: 1}, nil
}
func (*store) State() origin.State { return origin.State{} }
func (*store) Close()              {}

// TestLocal uses a store in this process, with nothing cached: reads are served from the
// reply's own buffer at any length, and writes are complete too.
func TestLocal(t *testing.T) {
	c, err := cache.New(cache.Config{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{t: t}
	svc, err := New(Config{
		Name: "local", Region: "us-east-1", Origin: origin.Config{URL: "embedded:x"}, Open: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Connect:     func(origin.Config) (Origin, error) { return s, nil }, Local: true,
	}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var reply edge.Reply
	f := func(op, body, answer, want string) {
		t.Helper()
		s.answer, s.asked = answer, nil
		r := request(op)
		r.Host = []byte("store.test")
		x := edge.Detached(t.Context(), r, []byte(body), time.Now())
		reply.Reset()
		x.Reply = reply
		svc.Serve(x)
		if x.Reply.Status != 200 || string(x.Reply.Body) != answer {
			t.Errorf("%s: got %d %.80q; want %.80q", op, x.Reply.Status, x.Reply.Body, answer)
		}
		if got := s.asked[len(s.asked)-1]; got != want {
			t.Errorf("%s: the store received %s; want %s", op, got, want)
		}
		reply = x.Reply
	}
	reply.Buf = make([]byte, 0, 64)
	for _, n := range []int{10, 1000, 1, 100_000, 20} {
		long := `{"Item":{"p":{"S":"` + strings.Repeat("x", n) + `"}}}`
		f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"}}}`, long, "GetItem at store.test in true")
	}
	f("Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`,
		`{"Count":0,"Items":[],"ScannedCount":0}`, "Query at store.test in true")
	f("Query", `{"TableName":"t","ConsistentRead":true,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`,
		`{"Count":0,"Items":[],"ScannedCount":0}`, "Query at store.test in true")
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"}}}`, `{}`, "PutItem at store.test in false")
}
