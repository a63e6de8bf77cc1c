package accel

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestFillsOutliveTheirExchange checks that a fill that continues after its exchange has
// ended references nothing of it: not the request's bytes and not the pooled call.
func TestFillsOutliveTheirExchange(t *testing.T) {
	const (
		get   = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
		batch = `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`
		query = `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","FilterExpression":"v = :v","ExpressionAttributeValues":{":g":{"S":"g1"},":v":{"S":"x"}}}`
		scan  = `{"TableName":"t","Limit":7}`
	)
	f := func(op, body string, refresh bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			s.cfg.RefreshAhead = 0.5
			s.run(`PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g1"},"v":{"S":"x"}}}`)
			s.run("wait 10m") // queries of an index are cached for at most the time since its last change
			fill := op
			if refresh {
				s.send(op, body)
				s.run("wait 3m") // in the second half of its life now; the third hit refreshes
				s.send(op, body)
				s.send(op, body)
				if op == "BatchGetItem" {
					fill = "GetItem"
				}
			}
			asked := ""
			s.origin.next = append(s.origin.next, func(_ context.Context, op string, body []byte) (*origin.Response, error) {
				before := bytes.Clone(body)
				time.Sleep(3 * time.Second) // of the bubble
				if !bytes.Equal(before, body) {
					t.Errorf("the buffer's %s became %s during the request to the origin", before, body)
				}
				asked = op
				return nil, nil
			})
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			defer leave()
			bytesOf := []byte(body)
			x := edge.Detached(ctx, request(op), bytesOf, time.Now())
			s.svc.Serve(x)
			for i := range bytesOf {
				bytesOf[i] = 0xa5
			}
			synctest.Wait()
			for range 4 { // these use the pooled call
				s.send("GetItem", `{"TableName":"other","Key":{"zzzzzzzzzzzzzzzz":{"S":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}}}`)
			}
			s.run("wait 5s")
			if asked != fill {
				t.Fatalf("the fill sent %q; want %s", asked, fill)
			}
			if !refresh {
				if x.Reply.Status != 503 {
					t.Errorf("a disconnected client got status %d", x.Reply.Status)
				}
			} else {
				s.run("wait 4m") // after the end of the refreshed entry's life
			}
			s.origin.down = true
			again := s.send(op, body)
			if again.Record.Decision != telemetry.Hit || !bytes.Contains(again.Reply.Body, []byte(`"g1"`)) {
				t.Errorf("%s: got %s %s", op, again.Record.Decision, again.Reply.Body)
			}
		})
	}
	f("Query", query, false)
	f("Scan", scan, false)
	f("GetItem", get, true)
	f("BatchGetItem", batch, true)
	f("Query", query, true)
	f("Scan", scan, true)
}
