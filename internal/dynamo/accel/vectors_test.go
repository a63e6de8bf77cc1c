package accel

import (
	"context"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestVectorSearchesAreForwarded checks that vector searches are forwarded as reads without
// effect on the cache, and that parameters of vector indexes are forwarded with their
// operations.
func TestVectorSearchesAreForwarded(t *testing.T) {
	f := newFixture(t)
	const (
		item    = `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`
		search  = `{"TableName":"t","IndexName":"vix","SearchVector":[{"N":"1"},{"N":"0.5"}],"TopK":3,"ReturnConsumedCapacity":"TOTAL"}`
		results = `{"SearchResults":[{"Item":{"p":{"S":"a"}},"Score":0.25}],"ConsumedCapacity":{"VectorSearchRequestBytes":1024}}`
		put     = `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"e":{"L":[{"N":"1"}]}},"ReturnConsumedCapacity":"INDEXES"}`
		stored  = `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1,"VectorIndexes":{"vix":{"VectorWriteRequestBytes":1024}}}}`
		update  = `{"TableName":"t","VectorIndexUpdates":[{"Create":{"IndexName":"vix","VectorAttribute":{"AttributeName":"e"},"Dimensions":2,"DistanceFunction":"COSINE","Projection":{"ProjectionType":"ALL"}}}]}`
	)
	f.origin.reply("GetItem", item)
	f.origin.reply("SearchVectors", results)
	f.origin.reply("PutItem", stored)
	f.origin.reply("UpdateTable", `{"TableDescription":{"TableName":"t","VectorIndexes":[{"IndexName":"vix"}]}}`)
	f.do("GetItem", getA)
	f.origin.take()
	for range 2 { // the second is not answered from the cache
		f.expect("SearchVectors", search, telemetry.Pass, results)
		if asked := f.origin.take(); len(asked) != 1 || asked[0].op != "SearchVectors" || asked[0].body != search {
			t.Fatalf("the origin received %v, want the search", asked)
		}
	}
	f.expect("GetItem", getA, telemetry.Hit, item)
	f.expect("PutItem", put, telemetry.Write, stored)
	f.origin.take()
	if got := f.do("UpdateTable", update); got.status != 200 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if asked := f.origin.take(); len(asked) != 1 || asked[0].body != update {
		t.Errorf("the origin received %v", asked)
	}
}

// endpoint is an origin with a configurable URL.
type endpoint struct {
	url    string
	closed *[]string
}

func (e *endpoint) Do(context.Context, *origin.Request) (*origin.Response, error) {
	return &origin.Response{Status: 200, Body: []byte(`{"at":"` + e.url + `"}`), Class: origin.Good, Attempts: 1}, nil
}
func (e *endpoint) State() origin.State { return origin.State{} }
func (e *endpoint) Close()              { *e.closed = append(*e.closed, e.url) }

// TestVectorsHaveTheirOwnEndpoint checks that SearchVectors is sent to AWS's separate
// endpoints for it, and to any other origin itself.
func TestVectorsHaveTheirOwnEndpoint(t *testing.T) {
	f := func(url, search string) {
		t.Helper()
		var closed []string
		connect := func(oc origin.Config) (Origin, error) { return &endpoint{oc.URL, &closed}, nil }
		f := newFixture(t, func(c *Config, _ *cache.Config) { c.Origin.URL, c.Connect = url, connect })
		for op, at := range map[string]string{"SearchVectors": search, "ListTables": url} {
			if got := f.do(op, `{"TableName":"t"}`); got.body != `{"at":"`+at+`"}` {
				t.Errorf("%s: %s is answered %d %s; want %s", url, op, got.status, got.body, at)
			}
		}
		want := url
		if search != url {
			want = search + " " + url
		}
		if err := f.svc.Reconfigure(f.cfg); err != nil || strings.Join(closed, " ") != want {
			t.Errorf("%s: a reload has closed %v, %v; want %s", url, closed, err, want)
		}
	}
	f("https://dynamodb.eu-west-1.amazonaws.com", "https://search-dynamodb.eu-west-1.amazonaws.com")
	f("https://dynamodb.eu-west-1.amazonaws.com:443", "https://search-dynamodb.eu-west-1.amazonaws.com:443")
	f("https://dynamodb-fips.us-east-1.amazonaws.com", "https://search-dynamodb-fips.us-east-1.amazonaws.com")
	f("https://dynamodb.cn-north-1.amazonaws.com.cn", "https://search-dynamodb.cn-north-1.amazonaws.com.cn")
	f("https://dynamodb.eu-west-1.api.aws", "https://search-dynamodb.eu-west-1.api.aws")
	f("https://123456789012.ddb.us-east-1.amazonaws.com", "https://123456789012.search-ddb.us-east-1.amazonaws.com")
	f("http://127.0.0.1:8000", "http://127.0.0.1:8000")
	f("http://dynamodb.local:8000", "http://dynamodb.local:8000")
	f("https://vpce-1-a.dynamodb.us-east-1.vpce.amazonaws.com", "https://vpce-1-a.dynamodb.us-east-1.vpce.amazonaws.com")
}
