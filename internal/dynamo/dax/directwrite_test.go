package dax

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// indexed is a scripted origin whose table Tab1 has a global index on cnt.
type indexed struct{ *scripted }

func (o indexed) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	resp, err := o.scripted.Do(ctx, r)
	if err == nil && strings.HasSuffix(string(r.Header.Get("X-Amz-Target")), "DescribeTable") {
		resp.Body = []byte(`{"Table":{"TableName":"Tab1","TableStatus":"ACTIVE","TableId":"1","CreationDateTime":1,` + described("pk S") +
			`,"GlobalSecondaryIndexes":[{"IndexName":"bycnt","IndexStatus":"ACTIVE","KeySchema":[{"AttributeName":"cnt","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}}`)
		resp.Body = []byte(strings.Replace(string(resp.Body), `"AttributeDefinitions":[`, `"AttributeDefinitions":[{"AttributeName":"cnt","AttributeType":"N"},`, 1))
	}
	return resp, err
}

// TestIndexAfterDirectWrite writes an item that is cached and that another process has changed
// at the origin since: the cached query of the index partition from which the write removes
// the item is invalidated.
func TestIndexAfterDirectWrite(t *testing.T) {
	const (
		found = `{"Item":{"pk":{"S":"alice"},"cnt":{"N":"3"}}}`       // as cached
		moved = `{"Attributes":{"pk":{"S":"alice"},"cnt":{"N":"7"}}}` // at the origin
		query = `{"TableName":"Tab1","IndexName":"bycnt","KeyConditionExpression":"cnt = :c","ExpressionAttributeValues":{":c":{"N":"7"}}}`
		batch = "011a06ed585f a1 6454616231 82"
	)
	f := func(name, request, answer, reply, asked string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			o := &scripted{}
			svc := newServiceOf(t, nil, accel.Origin(indexed{o}))
			<-time.After(time.Minute) // of the bubble: queries of an index are cached for at most the cache's age
			r := newRig(t, func(cfg *Config) { cfg.Service = svc })
			r.serveOperations()
			c := r.hello("Go v1")
			front, _ := svc.Client(nil)
			ask := func() telemetry.Decision {
				x := edge.Detached(t.Context(), http1.Request{
					Method: []byte("POST"), Target: []byte("/"), Path: []byte("/"), Minor: 1,
					Fields: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810.Query", "Content-Type", "application/x-amz-json-1.0"),
				}, []byte(query), time.Now())
				front.Serve(x)
				return x.Record.Decision
			}
			o.setAnswer(200, found)
			c.send(getAlice + "bfff")
			c.reply(2)
			o.setAnswer(200, `{"Count":1,"Items":[{"pk":{"S":"alice"},"cnt":{"N":"7"}}],"ScannedCount":1}`)
			ask()
			if d := ask(); d != telemetry.Hit {
				t.Fatalf("the query is not cached: %s", d)
			}
			o.take()
			o.setAnswer(200, answer)
			c.expect(request, reply)
			if got := o.take(); !strings.Contains(got, asked) {
				t.Errorf("%s: the origin received %s; want %s", name, got, asked)
			}
			if d := ask(); d == telemetry.Hit {
				t.Errorf("%s: the cached query is still served after the write", name)
			}
		})
	}
	f("UpdateItem", updAlice+"bf 08 50 8301818313821263636e748211008105 ff", moved, "80 f6", `"ReturnValues":"ALL_OLD"`)
	f("BatchWriteItem, put", batch+"45616c696365 41 01 bf ff", `{}`, "80 a0 80 a0", "PutRequest")
	f("BatchWriteItem, delete", batch+"45616c696365 f6 bf ff", `{}`, "80 a0 80 a0", "DeleteRequest")
}
