package expr

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// hotPaths are the functions that a cache hit calls.
func hotPaths(t testing.TB) map[string]func() {
	rawNames := []byte(`{"#n":"name","#s":"status"}`)
	rawValues := []byte(`{":id":{"S":"user-1001"},":from":{"N":"1000"},":to":{"N":"2000"}}`)
	projection := []byte("id, #n, address.city, tags[0], #s")
	key := []byte("id = :id AND seen BETWEEN :from AND :to")
	item := []byte(`{"id":{"S":"user-1001"},"name":{"S":"Ada"},"born":{"N":"1815"},"tags":{"L":[{"S":"math"},{"S":"engine"}]},` +
		`"address":{"M":{"city":{"S":"London"},"zip":{"S":"W1"}}},"status":{"S":"active"}}`)
	list := []byte(`["id","name","status"]`)
	var n Names
	var v Values
	var p, parsed, legacy Projection
	var kc KeyCondition
	if err := n.Reset(rawNames); err != nil {
		t.Fatal(err)
	}
	if err := v.Reset(rawValues); err != nil {
		t.Fatal(err)
	}
	if !parsed.Parse(projection, &n) || !ParseKeyCondition(key, &n, &v, &kc) {
		t.Fatal("the samples can't be parsed")
	}
	var fresh Names
	var freshValues Values
	buf := make([]byte, 0, 4096)
	return map[string]func(){
		"NamesReset":          func() { fresh.Reset(rawNames) },
		"ValuesReset":         func() { freshValues.Reset(rawValues) },
		"ProjectionParse":     func() { p.Parse(projection, &n) },
		"ProjectionAppend":    func() { parsed.Append(buf, item) },
		"FromAttributesToGet": func() { legacy.FromAttributesToGet(list) },
		"AppendCanonical":     func() { AppendCanonical(buf, key, &n, &v) },
		"ParseKeyCondition":   func() { ParseKeyCondition(key, &n, &v, &kc) },
		"IsReserved":          func() { reserved().has([]byte("localtimestamp")) },
	}
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	for name, f := range hotPaths(t) {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkExpr(b *testing.B) {
	for name, f := range hotPaths(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

func BenchmarkParseUpdate(b *testing.B) {
	n, v := names(b, someNames), values(b, someValues)
	b.ReportAllocs()
	for b.Loop() {
		ParseUpdate([]byte("SET a = :n, #dot.c = if_not_exists(b, :m) + :n REMOVE d ADD e :n"), n, v)
	}
}
