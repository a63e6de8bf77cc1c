package accel

import (
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestVectorsPass: searches of vectors pass as reads that change nothing here, and
// what belongs to vector indexes passes with the operations that it is a part of.
func TestVectorsPass(t *testing.T) {
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
			t.Fatalf("the origin was asked %v", asked)
		}
	}
	f.expect("GetItem", getA, telemetry.Hit, item)
	f.expect("PutItem", put, telemetry.Write, stored)
	f.origin.take()
	if got := f.do("UpdateTable", update); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if asked := f.origin.take(); len(asked) != 1 || asked[0].body != update {
		t.Errorf("the origin was asked %v", asked)
	}
}
