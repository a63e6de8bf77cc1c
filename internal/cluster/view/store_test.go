package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

const table = "kasoku-cluster"

// newEmbedded returns a connection to an embedded store without tables.
func newEmbedded(t testing.TB) view.Caller {
	t.Helper()
	store, err := embedded.Open(memory.New(), embedded.Config{}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return func(_ context.Context, target string, body []byte) (int, []byte, error) {
		response, err := store.Do(&embedded.Request{Method: "POST", Path: "/", Target: []byte(target), Body: body})
		if err != nil {
			return 0, nil, err
		}
		return response.Status, response.Body, nil
	}
}

// eachOrigin runs a test with a prepared table at each kind of origin.
func eachOrigin(t *testing.T, test func(t *testing.T, call view.Caller)) {
	for name, call := range map[string]func() view.Caller{
		"embedded": func() view.Caller { return newEmbedded(t) },
		"viewtest": func() view.Caller { return viewtest.New().Client().Call },
	} {
		t.Run(name, func(t *testing.T) {
			c := call()
			if err := newStore(c).Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			test(t, c)
		})
	}
}

func newStore(call view.Caller) *view.Store {
	return view.New(view.Config{Cluster: "production", Table: table, Call: call})
}

func TestContract(t *testing.T) {
	eachOrigin(t, func(t *testing.T, call view.Caller) {
		viewtest.Contract(t, func(cluster string) viewtest.Store {
			return view.New(view.Config{Cluster: cluster, Table: table, Call: call})
		})
	})
}

// TestLargestView writes a view near the limit of the size, with characters that are escaped.
func TestLargestView(t *testing.T) {
	eachOrigin(t, func(t *testing.T, call view.Caller) {
		v := viewtest.Members(1)
		for range 63 {
			v.Away = append(v.Away, protocol.Away{Node: "n", Reason: strings.Repeat("12345678<\x01", 540)})
		}
		s := newStore(call)
		if err := s.Write(t.Context(), 0, v); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(t.Context()); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("got another view, %v", err)
		}
	})
}

// TestRepeatedRequest checks a write whose first request takes effect, and whose answer is that
// to a second one: it has succeeded.
func TestRepeatedRequest(t *testing.T) {
	eachOrigin(t, func(t *testing.T, call view.Caller) {
		s := newStore(func(ctx context.Context, target string, body []byte) (int, []byte, error) {
			if _, _, err := call(ctx, target, body); err != nil {
				return 0, nil, err
			}
			return call(ctx, target, body)
		})
		for rev := range uint64(3) {
			if err := s.Write(t.Context(), rev, viewtest.Members(rev+1, "a")); err != nil {
				t.Errorf("writing %d: %v", rev+1, err)
			}
			// The same view of another writer is a conflict.
			if err := s.Write(t.Context(), rev, viewtest.Members(rev+1, "a")); err != view.ErrConflict {
				t.Errorf("writing %d again: %v", rev+1, err)
			}
		}
	})
}

// TestRequests compares the requests with the ones that the origin is documented to accept.
func TestRequests(t *testing.T) {
	var target, body string
	s := newStore(func(_ context.Context, to string, b []byte) (int, []byte, error) {
		target, body = to, string(b)
		return 200, []byte("{}"), nil
	})
	if _, err := s.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if target != "DynamoDB_20120810.GetItem" || body != `{"ConsistentRead":true,"Key":{"cluster":{"S":"production"}},"TableName":"kasoku-cluster"}` {
		t.Errorf("got %s %s", target, body)
	}
	for expect, want := range map[uint64]string{
		0: `{"ConditionExpression":"attribute_not_exists(#cluster)","ExpressionAttributeNames":{"#cluster":"cluster"},` +
			`"ReturnValuesOnConditionCheckFailure":"ALL_OLD","TableName":"kasoku-cluster"}`,
		41: `{"ConditionExpression":"#rev = :rev AND #creator = :creator","ExpressionAttributeNames":{"#creator":"creator","#rev":"rev"},` +
			`"ExpressionAttributeValues":{":creator":{"S":"0000000000000007"},":rev":{"N":"41"}},` +
			`"ReturnValuesOnConditionCheckFailure":"ALL_OLD","TableName":"kasoku-cluster"}`,
	} {
		if err := s.Write(t.Context(), expect, viewtest.Members(expect+1, "a")); err != nil {
			t.Fatal(err)
		}
		var request map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		if item := string(request["Item"]); !strings.Contains(item, fmt.Sprintf(`"rev":{"N":"%d"}`, expect+1)) {
			t.Errorf("got the item %s", item)
		}
		delete(request, "Item")
		if rest, _ := json.Marshal(request); target != "DynamoDB_20120810.PutItem" || string(rest) != want {
			t.Errorf("got %s %s, want %s", target, rest, want)
		}
	}
}

func TestErrors(t *testing.T) {
	const prefix = "cluster view: GetItem on table kasoku-cluster"
	for _, c := range []struct {
		status int
		answer string
		err    error
		want   string
	}{
		{0, "", errors.New("connection refused"), prefix + ": connection refused"},
		{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"Slow down"}`, nil,
			prefix + " was answered with 400 ProvisionedThroughputExceededException: Slow down"},
		{400, `{"__type":"com.amazon.coral.availability#ThrottlingException","Message":"Rate exceeded"}`, nil,
			prefix + " was answered with 400 ThrottlingException: Rate exceeded"},
		{500, `{"__type":"InternalServerError"}`, nil, prefix + " was answered with 500 InternalServerError"},
		{503, `<html>Unavailable</html>`, nil, prefix + " was answered with 503 and no DynamoDB error"},
		{502, ``, nil, prefix + " was answered with 502 and no DynamoDB error"},
		{400, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"User x is not authorized"}`, nil,
			prefix + " was answered with 400 AccessDeniedException: User x is not authorized; the origin's credentials need the IAM action " +
				"dynamodb:GetItem on arn:aws:dynamodb:*:*:table/kasoku-cluster"},
		{400, `{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"The signature does not match.\n\nThe Canonical String was\n'x-amz-security-token:secret'"}`,
			nil, prefix + " was answered with 400 InvalidSignatureException: The signature does not match."},
		{400, `{"__type":"ValidationException","message":"` + strings.Repeat("x", 299) + `éé"}`, nil,
			prefix + " was answered with 400 ValidationException: " + strings.Repeat("x", 299) + "..."},
		{204, `{}`, nil, prefix + " was answered with 204 and no DynamoDB error"},
		{200, ``, nil, prefix + ": the answer is not a JSON object: unexpected end of JSON input"},
		{200, `null`, nil, prefix + ": the answer is not a JSON object: it is null"},
		{200, `[]`, nil, prefix + ": the answer is not a JSON object: json: cannot unmarshal array"},
		{200, `<html>`, nil, prefix + ": the answer is not a JSON object: invalid character"},
		{200, `{"Item":null}`, nil, `cluster view: the item "production" of table kasoku-cluster: it is not a JSON object`},
		{200, `{"Item":{}}`, nil, `cluster view: the item "production" of table kasoku-cluster: format is missing`},
		{200, `{"Item":{"cluster":{"S":"production"},"format":{"N":"9"}}}`, nil,
			`cluster view: the item "production" of table kasoku-cluster: it has format 9, which a newer version of Kasoku wrote`},
		{200, `{"Item":"` + strings.Repeat("x", 4<<20) + `"}`, nil, prefix + ": the answer has 4194315 bytes, and the maximum is 4194304"},
	} {
		s := newStore(func(context.Context, string, []byte) (int, []byte, error) { return c.status, []byte(c.answer), c.err })
		v, err := s.Read(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || !reflect.DeepEqual(v, protocol.View{}) {
			t.Errorf("%d %.100s: got %+v, %v\nwant %s", c.status, c.answer, v, err, c.want)
		}
		if c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v does not wrap %v", err, c.err)
		}
		want := strings.Replace(c.want, "GetItem", "PutItem", 2)
		if !strings.HasPrefix(want, "cluster view: PutItem") || c.status == 200 && strings.HasPrefix(c.answer, "{") && len(c.answer) < 1000 {
			continue // an answer that only reads have
		}
		if err := s.Write(t.Context(), 1, viewtest.Members(2)); err == nil || errors.Is(err, view.ErrConflict) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d %.100s: got %v\nwant %s", c.status, c.answer, err, want)
		}
	}
}

// TestConflictWithoutItem checks origins that do not return the item with a conflict.
func TestConflictWithoutItem(t *testing.T) {
	for _, item := range []string{"", `,"Item":null`, `,"Item":{}`, `,"Item":{"format":{"N":"2"}}`} {
		s := newStore(func(context.Context, string, []byte) (int, []byte, error) {
			return 400, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"` + item + `}`), nil
		})
		if err := s.Write(t.Context(), 1, viewtest.Members(2)); err != view.ErrConflict {
			t.Errorf("%s: got %v", item, err)
		}
	}
}
