package dax

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/origin"
)

// sequentialOrigin is an origin with a list of responses, one for each request.
type sequentialOrigin struct {
	*scripted
	answers []string
}

func (o *sequentialOrigin) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	if strings.HasSuffix(string(r.Header.Get("X-Amz-Target")), "DescribeTable") {
		return o.scripted.Do(ctx, r)
	}
	if len(o.answers) == 0 {
		return nil, errors.New("more requests than responses")
	}
	status := 200
	if strings.Contains(o.answers[0], "__type") {
		status = 400
	}
	o.scripted.setAnswer(status, o.answers[0])
	o.answers = o.answers[1:]
	return o.scripted.Do(ctx, r)
}

// TestUnprocessedItems checks that writes of a batch that DynamoDB leaves unprocessed are
// retried, and that the capacity of each request is reported. Writes that still remain are
// returned to the client only if others succeeded.
func TestUnprocessedItems(t *testing.T) {
	const (
		request = "011a06ed585f a1 6454616231 84 45616c696365 41 01 43626f62 f6 bf 03 01 ff" // put alice, delete bob
		putLeft = `"UnprocessedItems":{"Tab1":[{"PutRequest":{"Item":{"pk":{"S":"alice"}}}}]}`
		bobLeft = `"UnprocessedItems":{"Tab1":[{"DeleteRequest":{"Key":{"pk":{"S":"bob"}}}}]}`
		used    = `"ConsumedCapacity":[{"TableName":"Tab1","CapacityUnits":1.0}]`
		unit    = "51 6454616231 fb3ff0000000000000 f6f6f6"
	)
	for _, c := range []struct {
		name    string
		answers []string
		reply   string
		last    string // the last request to the origin
	}{
		{"nothing", []string{`{` + used + `}`}, "80 a0 81" + unit + "a0", ""},
		{"once", []string{`{` + putLeft + `,` + used + `}`, `{` + used + `}`}, "80 a0 82" + unit + unit + "a0",
			`{"RequestItems":{"Tab1":[{"PutRequest":{"Item":{"pk":{"S":"alice"}}}}]},"ReturnConsumedCapacity":"TOTAL"}`},
		{"an error later", []string{`{` + bobLeft + `}`, `{"__type":"x#ThrottlingException","message":"slow"}`},
			"80 a1 6454616231 82 43626f62 f6 80 a0", ""},
		{"a put, and an error later", []string{`{` + putLeft + `}`, `{"__type":"x#ThrottlingException","message":"slow"}`},
			"80 a1 6454616231 82 45616c696365 4101 80 a0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &sequentialOrigin{&scripted{}, c.answers}
			r := newRig(t, func(cfg *Config) { cfg.Service = newServiceOf(t, nil, accel.Origin(o)) })
			r.serveOperations()
			r.hello("Go v1").expect(request, c.reply)
			asked := strings.Split(o.take(), "\n")
			if len(asked) != len(c.answers) || !strings.HasSuffix(asked[len(asked)-1], c.last) {
				t.Errorf("the origin received %d requests:\n%s", len(asked), strings.Join(asked, "\n"))
			}
		})
	}
}
