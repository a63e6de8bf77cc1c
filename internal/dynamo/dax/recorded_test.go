package dax

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// recording is a recorded call of a client's user: its parameters, the bytes that clients
// sent for it, a reply, and the client's interpretation of the reply.
type recording struct {
	Name, Operation string
	Params          map[string]any
	Requests        []struct {
		Clients []string
		Hex     string
	}
	Reply  string
	Answer map[string]any
}

// preambleOf maps recorded clients to their preambles.
var preambleOf = map[string]string{"py": "Python", "jsv3": "JavaScript v3", "jsv1": "JavaScript v2", "go1": "Go v1", "go2": "Go v2"}

// numberedFrom1001 holds the lists in the recorded requests: those with a recorded number, and
// those numbered in the order of the clients' requests.
type numberedFrom1001 struct {
	knownLists
	more map[uint64][]string
}

func (l *numberedFrom1001) ID(names [][]byte, by lists.Owner) (uint64, error) {
	if id, err := l.knownLists.ID(names, by); err == nil && l.more[id] == nil {
		return id, nil
	}
	for id, list := range l.more {
		if slices.EqualFunc(names, list, func(a []byte, b string) bool { return string(a) == b }) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("there is no recorded list %q", names)
}

func (l *numberedFrom1001) Names(id uint64) ([]string, bool) {
	if list, ok := l.more[id]; ok {
		return list, true
	}
	return l.knownLists.Names(id)
}

// TestRecordedCalls replays recorded calls: the request to the origin matches the call, and
// the origin's response becomes the recorded reply.
func TestRecordedCalls(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 95 {
		t.Fatal(len(all), err)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			for _, r := range c.Requests {
				for _, client := range r.Clients {
					c.replay(t, preambleOf[client], r.Hex)
				}
			}
		})
	}
}

func (c *recording) replay(t *testing.T, preamble, request string) {
	o := &scripted{}
	answer, err := json.Marshal(c.Answer)
	if err != nil {
		t.Fatal(err)
	}
	switch o.setAnswer(200, string(answer)); {
	case c.Answer == nil:
		o.setAnswer(400, canceled)
	case c.Name == "batch_write_unprocessed":
		o.setAnswer(200, `{}`) // unprocessed writes would be retried: TestUnprocessedItems
	}
	r := newRig(t, func(cfg *Config) {
		cfg.Service = uncached(t, o)
		cfg.Lists = &numberedFrom1001{recordedLists, c.lists()}
	})
	r.serveOperations()
	client := r.hello(preamble)
	client.send(request)
	reply := client.reply(1)
	if reply == "80" {
		reply += client.reply(len(items(t, c.Reply)) - 1)
	} else {
		reply += client.reply(2)
	}
	operation, asked, _ := strings.Cut(o.take(), " ")
	if operation != c.Operation {
		t.Fatalf("%s: the origin received %q; the reply is %s", preamble, operation, reply)
	}
	if got, want := comparableRequest(t, []byte(asked)), comparableRequest(t, marshal(t, c.Params)); !c.legacy() && !(c.Name == "query_all_attributes" && preamble == "Go v2") && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the origin received\n%v\nwant\n%v", preamble, got, want)
	}
	if got, want := comparableReply(t, reply), comparableReply(t, c.Reply); c.Answer != nil && c.Name != "batch_write_unprocessed" && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the reply is\n%v\nwant\n%v", preamble, got, want)
	}
}

// uncached returns a service that caches nothing.
func uncached(t *testing.T, o accel.Origin) *accel.Service {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := accel.New(accel.Config{Name: "orders", Region: "us-west-2", Open: true,
		Connect: func(origin.Config) (accel.Origin, error) { return o, nil }}, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	return svc
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// legacy reports whether the call has parameters that clients convert to expressions.
func (c *recording) legacy() bool { return strings.HasPrefix(c.Name, "legacy_") }

// lists returns the lists of the call that are missing in recordedLists. One recorded reply
// uses a list with more attributes than it has values; here the list has only these.
func (c *recording) lists() map[uint64][]string {
	if c.Name == "update_updated_new" {
		return map[uint64][]string{5: {"cnt"}}
	}
	return map[uint64][]string{1001: {"A", "_", "a.b", "z", "é"}}
}

// comparableRequest returns a request without permitted differences: the names of
// placeholders, the order of members, the spelling of numbers, options with default values.
func comparableRequest(t *testing.T, body []byte) any {
	t.Helper()
	canonical, ok := wire.AppendCanonical(nil, body)
	if !ok {
		canonical = body // a number that DynamoDB refuses
	}
	var v map[string]any
	if err := json.Unmarshal(canonical, &v); err != nil {
		t.Fatal(err)
	}
	return resolve(t, v)
}

var expressions = []string{"KeyConditionExpression", "FilterExpression", "ConditionExpression", "UpdateExpression", "ProjectionExpression"}

// defaults are the default values of options.
var defaults = map[string]any{"ReturnValues": "NONE", "ReturnConsumedCapacity": "NONE", "ReturnItemCollectionMetrics": "NONE", "ConsistentRead": false,
	"ScanIndexForward": true, "ReturnValuesOnConditionCheckFailure": "NONE"}

// resolve replaces placeholders in expressions, wherever they occur.
func resolve(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = resolve(t, v[i])
		}
	case map[string]any:
		var names expr.Names
		var values expr.Values
		scope := func(member string) []byte {
			if v[member] == nil {
				return nil
			}
			return marshal(t, v[member])
		}
		if err := names.Reset(scope("ExpressionAttributeNames")); err != nil {
			t.Fatal(err)
		}
		if err := values.Reset(scope("ExpressionAttributeValues")); err != nil {
			t.Fatal(err)
		}
		for _, member := range expressions {
			if text, ok := v[member].(string); ok {
				b, ok := expr.AppendCanonical(nil, []byte(text), &names, &values)
				if !ok {
					t.Fatalf("no expression: %s", text)
				}
				v[member] = string(b)
			}
		}
		if update, ok := v["UpdateExpression"].(string); ok {
			v["UpdateExpression"] = clausesOf(update)
		}
		if v["Select"] == "SPECIFIC_ATTRIBUTES" && v["ProjectionExpression"] != nil {
			delete(v, "Select")
		}
		delete(v, "ExpressionAttributeNames")
		delete(v, "ExpressionAttributeValues")
		delete(v, "ClientRequestToken") // generated by clients whose users provide none
		for member := range maps.Clone(v) {
			if v[member] == defaults[member] {
				delete(v, member)
				continue
			}
			v[member] = resolve(t, v[member])
		}
		for _, set := range []string{"SS", "NS", "BS"} {
			if list, ok := v[set].([]any); ok {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
	}
	return v
}

// clausesOf returns the clauses of an update, whose order is not significant. Names and values
// are quoted.
func clausesOf(update string) []string {
	for _, word := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		update = strings.ReplaceAll(update, word+" ", "\n"+word+" ")
	}
	list := strings.Split(update, "\n")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	slices.Sort(list)
	return list
}

// comparableReply returns a reply in comparable form. An empty reply has two encodings.
func comparableReply(t *testing.T, text string) []any {
	t.Helper()
	all := items(t, text)
	if m, ok := all[len(all)-1].(map[any]any); ok && len(m) == 0 && len(all) == 2 {
		all[1] = nil
	}
	return all
}

// items reads CBOR as values that can be compared: numbers as texts, maps without order.
func items(t *testing.T, text string) (all []any) {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r := cbor.NewReader(b)
	for !r.Done() {
		all = append(all, readItem(t, &r))
	}
	return all
}

func readItem(t *testing.T, r *cbor.Reader) any {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	switch r.Kind() {
	case cbor.Bytes:
		return inside(t, r.Bytes())
	case cbor.Text:
		return "text " + string(r.Text())
	case cbor.Array:
		list := []any{}
		n := r.Array()
		for r.More(&n) {
			list = append(list, readItem(t, r))
		}
		return list
	case cbor.Map:
		m := map[any]any{}
		n := r.Map()
		for r.More(&n) {
			name := readItem(t, r)
			m[name] = readItem(t, r)
		}
		return m
	case cbor.True, cbor.False:
		return r.Bool()
	case cbor.Null:
		r.Null()
		return nil
	case cbor.Tag:
		ahead := *r
		if tag := ahead.Tag(); tag > 5 {
			*r = ahead
			return [2]any{tag, fmt.Sprint(readItem(t, r))}
		}
	}
	text, err := number.AppendText(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inside decodes a byte string with items, and returns any other one unchanged.
func inside(t *testing.T, b []byte) any {
	t.Helper()
	r := cbor.NewReader(b)
	for !r.Done() && r.Err() == nil {
		r.Skip()
	}
	if r.Err() != nil || len(b) == 0 || bytes.IndexFunc(b, func(c rune) bool { return c < ' ' || c > '~' }) < 0 {
		return fmt.Sprintf("bytes %x", b)
	}
	return items(t, hex.EncodeToString(b))
}
