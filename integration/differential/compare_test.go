package differential

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func parsed(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// TestCompare checks that the comparison finds all differences, and only those.
func TestCompare(t *testing.T) {
	sorts := &key{"s", "N"}
	all := tables{{name: "t", hash: key{"p", "S"}, globals: []index{{name: "i", hash: key{"g", "S"}, sort: sorts}}}}
	f := func(operation, req, a, b string, same bool) {
		t.Helper()
		r := request{operation: operation, body: parsed(t, req)}
		what := all.compare(r, answer{status: 200, body: parsed(t, a)}, answer{status: 200, body: parsed(t, b)})
		if (what == "") != same {
			t.Errorf("%s: %s and %s: %s", operation, a, b, what)
		}
	}
	f("GetItem", `{}`, `{"Item":{"a":{"N":"1"}}}`, `{"Item":{"a":{"N":"1"}}}`, true)
	f("GetItem", `{}`, `{"Item":{"a":{"N":"1"}}}`, `{"Item":{"a":{"N":"1.0"}}}`, true)
	f("GetItem", `{}`, `{"Item":{"a":{"N":"1"}}}`, `{"Item":{"a":{"N":"1.1"}}}`, false)
	f("GetItem", `{}`, `{"Item":{"a":{"NS":["1","1E+1"]}}}`, `{"Item":{"a":{"NS":["10","1.0"]}}}`, true)
	f("GetItem", `{}`, `{"Item":{}}`, `{}`, false)
	f("GetItem", `{}`, `{"Item":{"a":{"SS":["x","y"]}}}`, `{"Item":{"a":{"SS":["y","x"]}}}`, true)
	f("GetItem", `{}`, `{"Item":{"a":{"L":[{"S":"x"},{"S":"y"}]}}}`, `{"Item":{"a":{"L":[{"S":"y"},{"S":"x"}]}}}`, false)
	f("GetItem", `{}`, `{"Item":{"message":{"S":"x"}}}`, `{"Item":{"message":{"S":"y"}}}`, false)
	f("GetItem", `{}`, `{"ConsumedCapacity":{"CapacityUnits":1}}`, `{"ConsumedCapacity":{"CapacityUnits":2}}`, true)
	f("GetItem", `{}`, `{"Item":{"N":{"N":"1"}}}`, `{"Item":{"N":{"N":"2"}}}`, false)
	f("PutItem", `{}`, `{"message":"x"}`, `{"Message":"y"}`, true)
	f("PutItem", `{}`, `{"message":"x","Item":{"a":{"S":"x"}}}`, `{"message":"x"}`, false)
	const forward, backward = `{"Items":[{"p":{"S":"x"},"s":{"N":"1"}},{"p":{"S":"y"},"s":{"N":"1"}}],"Count":2}`, `{"Items":[{"p":{"S":"y"},"s":{"N":"1"}},{"p":{"S":"x"},"s":{"N":"1"}}],"Count":2}`
	f("Scan", `{"TableName":"t"}`, forward, backward, true)
	f("Query", `{"TableName":"t"}`, forward, backward, false)
	f("Query", `{"TableName":"t","IndexName":"i"}`, forward, backward, true)
	f("Query", `{"TableName":"t","IndexName":"i"}`, strings.Replace(forward, `"1"`, `"2"`, 1), strings.Replace(backward, `"1"`, `"2"`, 1), false)
	f("Query", `{"TableName":"t","IndexName":"i"}`, strings.Replace(forward, `"1"`, `"2"`, 1), strings.NewReplacer(`"y"},"s":{"N":"1"}`, `"y"},"s":{"N":"1"}`, `"x"},"s":{"N":"1"}`, `"x"},"s":{"N":"2"}`).Replace(backward), false)
	f("Scan", `{}`, `{"Items":[],"Count":0}`, `{"Items":[],"Count":1}`, false)
	f("Scan", `{"ExclusiveStartKey":{}}`, `{"Items":[],"Count":0}`, `{"Items":[],"Count":1}`, true)
	f("BatchGetItem", `{}`, `{"Responses":{"t":[{"a":{"S":"x"}},{"a":{"S":"y"}}]}}`, `{"Responses":{"t":[{"a":{"S":"y"}},{"a":{"S":"x"}}]}}`, true)
	f("TransactGetItems", `{}`, `{"Responses":[{"Item":{"a":{"S":"x"}}},{}]}`, `{"Responses":[{},{"Item":{"a":{"S":"x"}}}]}`, false)
	f("TransactWriteItems", `{}`, `{"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"x"}]}`, `{"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"y"}]}`, true)
	f("TransactWriteItems", `{}`, `{"CancellationReasons":[{"Code":"None"},{"Code":"ValidationError"}]}`, `{"CancellationReasons":[{"Code":"ValidationError"},{"Code":"None"}]}`, false)
	f("DescribeTable", `{}`, `{"Table":{"TableId":"x","TableStatus":"ACTIVE","AttributeDefinitions":[{"AttributeName":"a"},{"AttributeName":"b"}]}}`,
		`{"Table":{"TableStatus":"ACTIVE","AttributeDefinitions":[{"AttributeName":"b"},{"AttributeName":"a"}]}}`, true)
	f("DescribeTable", `{}`, `{"Table":{"TableStatus":"ACTIVE"}}`, `{"Table":{"TableStatus":"CREATING"}}`, false)

	const created = `{"TableDescription":{"TableStatus":"ACTIVE","KeySchema":[],"GlobalSecondaryIndexes":[{"IndexName":"i","IndexStatus":"ACTIVE"}]}}`
	f("CreateTable", `{}`, created, strings.ReplaceAll(created, "ACTIVE", "CREATING"), true)
	f("CreateTable", `{}`, created, strings.Replace(created, `"KeySchema":[],`, "", 1), false)
	f("DeleteTable", `{}`, created, `{"TableDescription":{"TableStatus":"DELETING"}}`, true)
	f("DescribeTable", `{}`, created, strings.Replace(created, "ACTIVE", "CREATING", 1), false)
	f("ListTables", `{}`, `{"TableNames":["differ-left-run1-1","differ-SIDE1"]}`, `{"TableNames":["differ-SIDE1","other"]}`, true)
	f("ListTables", `{}`, `{"TableNames":["differ-SIDE1"]}`, `{"TableNames":[]}`, false)
	f("GetShardIterator", `{}`, `{"ShardIterator":"a"}`, `{"ShardIterator":"b"}`, true)

	for _, other := range []answer{{status: 500, fault: "A"}, {status: 400, fault: "B"}} {
		if all.compare(request{}, answer{status: 400, fault: "A"}, other) == "" {
			t.Errorf("the answer 400 A is equal to %s", other)
		}
	}
}

func TestAbnormalNumber(t *testing.T) {
	for _, in := range []string{"0", "1", "-10", "0.5", "-0.05", "12.5"} {
		if what := abnormalNumber(parsed(t, `{"Items":[{"a":{"L":[{"N":"`+in+`"},{"NS":["`+in+`"]}]}}]}`)); what != "" {
			t.Errorf("%s: %s", in, what)
		}
	}
	for _, in := range []string{"-0", "+1", "01", "1.0", ".5", "1e3", "1.", "-", ""} {
		if abnormalNumber(parsed(t, `{"Items":[{"a":{"L":[{"N":"`+in+`"}]}}]}`)) == "" || abnormalNumber(parsed(t, `{"Items":[{"a":{"NS":["1","`+in+`"]}}]}`)) == "" {
			t.Errorf("no abnormal number was found in %s", in)
		}
	}
}

func TestShrink(t *testing.T) {
	var steps []request
	for _, name := range strings.Split("abcdefghijklmnop", "") {
		steps = append(steps, request{operation: name, body: nil})
	}
	has := func(steps []request, name string) bool {
		return slices.ContainsFunc(steps, func(r request) bool { return r.operation == name })
	}
	f := func(want string) {
		t.Helper()
		got := ""
		for _, r := range shrink(steps, func(less []request) bool {
			for _, name := range strings.Split(want, "") {
				if !has(less, name) {
					return false
				}
			}
			return true
		}) {
			got += r.operation
		}
		if got != want {
			t.Errorf("shrunk to %s; want %s", got, want)
		}
	}
	f("p")
	f("cjp")
	f("abp")
	f("abcdefghijklmnop")
}

// TestSameSeed checks that requests depend on the seed only.
func TestSameSeed(t *testing.T) {
	first, again, other := newScene(7, 300), newScene(7, 300), newScene(8, 300)
	differ := 0
	for i := range first.steps {
		if first.steps[i].String() != again.steps[i].String() {
			t.Fatalf("step %d: got %s, and %s with the same seed", i, first.steps[i], again.steps[i])
		}
		if first.steps[i].String() != other.steps[i].String() {
			differ++
		}
	}
	if differ < 200 {
		t.Errorf("only %d of %d requests differ between two seeds", differ, len(first.steps))
	}
}

// TestFindsChangedAnswers compares DynamoDB Local with itself behind a proxy that changes
// answers: each change must be found, and be reproduced with few requests.
func TestFindsChangedAnswers(t *testing.T) {
	local := harness.DynamoDBLocal(t)
	to, err := url.Parse(local)
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, operation string, replace func(w http.ResponseWriter) bool) {
		t.Helper()
		var replaced atomic.Bool
		proxy := httputil.NewSingleHostReverseProxy(to)
		other := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+operation) && replace(w) {
				replaced.Store(true)
				return
			}
			proxy.ServeHTTP(w, r)
		}))
		p := newPair(local, other)
		s := newScene(5, 40)
		found, err := p.run(t.Context(), s, s.steps)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 || !replaced.Load() || found[0].req.operation != operation {
			t.Errorf("%s: found %v", name, found)
			return
		}
		if fewest := strings.Count(p.reproduce(t.Context(), s, found[0]), "\n"); fewest > len(s.tables)+3 {
			t.Errorf("%s: reported in %d requests", name, fewest)
		}
	}
	f("a put that does nothing", "PutItem", func(w http.ResponseWriter) bool {
		w.Write([]byte("{}"))
		return true
	})
	f("a query without items", "Query", func(w http.ResponseWriter) bool {
		w.Write([]byte(`{"Items":[],"Count":0,"ScannedCount":0}`))
		return true
	})
}
