package embedded

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestScore(t *testing.T) {
	f := func(by catalog.Distance, query, stored []float32, want float64) {
		t.Helper()
		var floats []byte
		for _, v := range stored {
			floats = binary.BigEndian.AppendUint32(floats, math.Float32bits(v))
		}
		if got := score(by, query, floats); got != want {
			t.Errorf("%s of %v and %v is %v; want %v", by, query, stored, got, want)
		}
	}
	f(catalog.Cosine, []float32{1, 0}, []float32{1, 0}, 0)
	f(catalog.Cosine, []float32{1, 0}, []float32{5, 0}, 0)
	f(catalog.Cosine, []float32{0.1, 0.7}, []float32{0.1, 0.7}, 0)
	f(catalog.Cosine, []float32{1, 0}, []float32{0, 2}, 1)
	f(catalog.Cosine, []float32{1, 0}, []float32{-3, 0}, 2)
	f(catalog.Cosine, []float32{0, 0}, []float32{1, 0}, 1)
	f(catalog.Cosine, []float32{0, 0}, []float32{0, 0}, 1)
	f(catalog.Cosine, []float32{1e-23, 0}, []float32{0, 1e-23}, 1)
	f(catalog.Euclidean, []float32{0, 3}, []float32{4, 0}, 5)
	f(catalog.Euclidean, []float32{math.MaxFloat32, 0}, []float32{-math.MaxFloat32, 0}, math.MaxFloat32)
	f(catalog.DotProduct, []float32{1, 2}, []float32{3, -4}, -5)
	f(catalog.DotProduct, []float32{math.MaxFloat32, math.MaxFloat32}, []float32{math.MaxFloat32, -math.MaxFloat32}, 0)
	f(catalog.DotProduct, []float32{math.MaxFloat32, 1}, []float32{math.MaxFloat32, 1}, math.MaxFloat32)
	f(catalog.DotProduct, []float32{math.MaxFloat32, 1}, []float32{-math.MaxFloat32, 1}, -math.MaxFloat32)
}

// vectorText returns a vector as in requests.
func vectorText(v []float64) string {
	var b strings.Builder
	for i, f := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"N":"%v"}`, f)
	}
	return "[" + b.String() + "]"
}

const createVectors = `{"TableName":"vec","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
	"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"g","AttributeType":"N"}],
	"VectorIndexes":[{"IndexName":"all","VectorAttribute":{"AttributeName":"e"},"Dimensions":4,"DistanceFunction":"EUCLIDEAN","Projection":{"ProjectionType":"ALL"}},
	{"IndexName":"part","VectorAttribute":{"AttributeName":"e"},"Dimensions":4,"DistanceFunction":"DOT_PRODUCT","Projection":{"ProjectionType":"KEYS_ONLY"},
		"SearchSchema":[{"AttributeName":"g","SearchSchemaElementType":"HASH"}]}]}`

// TestSearch writes, changes and deletes items at random, and compares each search with a
// comparison with all items.
func TestSearch(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createVectors)
	type item struct {
		vector []float64
		group  int
	}
	items := map[string]item{}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() []float64 {
		v := make([]float64, 4)
		for i := range v {
			v[i] = float64(random.IntN(41)-20) / 4 // can be represented with 32 bits
		}
		return v
	}
	search := func(index string, query []float64, group int) {
		t.Helper()
		type found struct {
			key   string
			score float64
		}
		var want []found
		for key, it := range items {
			sum := 0.0
			for i, q := range query {
				if index == "all" {
					sum += (q - it.vector[i]) * (q - it.vector[i])
				} else {
					sum += q * it.vector[i]
				}
			}
			switch {
			case index == "all":
				want = append(want, found{key, math.Sqrt(sum)})
			case it.group == group:
				want = append(want, found{key, sum})
			}
		}
		slices.SortFunc(want, func(a, b found) int {
			if index == "part" {
				a, b = b, a
			}
			return cmp.Compare(a.score, b.score)
		})
		condition := ""
		if index == "part" {
			condition = fmt.Sprintf(`,"SearchConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"N":"%d"}}`, group)
		}
		var got struct {
			SearchResults []struct {
				Item  map[string]struct{ S string }
				Score float64
			}
		}
		reply := s.mustSend(t, "SearchVectors", fmt.Sprintf(`{"TableName":"vec","IndexName":%q,"TopK":7,"SearchVector":%s%s}`, index, vectorText(query), condition))
		if err := json.Unmarshal([]byte(reply), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.SearchResults) != min(7, len(want)) {
			t.Fatalf("got %d results, want %d", len(got.SearchResults), len(want))
		}
		for i, r := range got.SearchResults {
			// Items of equal scores may be in any order.
			at := slices.IndexFunc(want, func(f found) bool { return f.key == r.Item["p"].S })
			if at < 0 || want[at].score != r.Score || want[i].score != r.Score {
				t.Fatalf("%s: result %d: got %v, want %v", index, i, r, want[i])
			}
		}
	}
	for i := range 400 {
		key := fmt.Sprint("k", random.IntN(60))
		switch group := random.IntN(3); random.IntN(4) {
		case 0:
			s.mustSend(t, "DeleteItem", fmt.Sprintf(`{"TableName":"vec","Key":{"p":{"S":%q}}}`, key))
			delete(items, key)
		case 1:
			if it, ok := items[key]; ok {
				v := slices.Clone(it.vector)
				v[2] = float64(random.IntN(9))
				s.mustSend(t, "UpdateItem", fmt.Sprintf(`{"TableName":"vec","Key":{"p":{"S":%q}},"UpdateExpression":"SET e[2] = :n, g = :g","ExpressionAttributeValues":{":n":{"N":"%v"},":g":{"N":"%d"}}}`, key, v[2], group))
				items[key] = item{v, group}
			}
		default:
			it := item{draw(), group}
			s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"vec","Item":{"p":{"S":%q},"g":{"N":"%d"},"e":{"L":%s}}}`, key, group, vectorText(it.vector)))
			items[key] = it
		}
		if i%10 == 9 {
			search("all", draw(), 0)
			search("part", draw(), random.IntN(3))
		}
	}
}

// TestSearchReplyLimit searches more than a reply may have.
func TestSearchReplyLimit(t *testing.T) {
	if race.Enabled {
		return // all of it runs in one goroutine, and would be slow
	}
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createVectors)
	large := strings.Repeat("x", 350<<10)
	for i := range 50 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"vec","Item":{"p":{"S":"k%d"},"x":{"S":%q},"e":{"L":%s}}}`, i, large, vectorText([]float64{0, 0, 0, float64(i)})))
	}
	const query = `{"TableName":"vec","IndexName":"all","SearchVector":[{"N":"0"},{"N":"0"},{"N":"0"},{"N":"0"}],`
	s.expectError(t, "SearchVectors", query+`"TopK":50}`, "ValidationException",
		"The size of the search results exceeds the limit of 16 MB. Use a narrower projection or a smaller TopK")
	if got := s.mustSend(t, "SearchVectors", query+`"TopK":50,"ProjectionExpression":"p"}`); strings.Count(got, `"Score"`) != 50 {
		t.Errorf("got %.200s", got)
	}
	if got := s.mustSend(t, "SearchVectors", query+`"TopK":40}`); strings.Count(got, `"Score"`) != 40 {
		t.Errorf("got %d results", strings.Count(got, `"Score"`))
	}
}

// TestCloseEndsSearch checks that closing the store does not wait for a search, which reads all
// of an index.
func TestCloseEndsSearch(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createVectors)
	s.mustSend(t, "PutItem", `{"TableName":"vec","Item":{"p":{"S":"k"},"e":{"L":`+vectorText([]float64{0, 0, 0, 1})+`}}}`)
	const query = `{"TableName":"vec","IndexName":"all","TopK":1,"SearchVector":[{"N":"0"},{"N":"0"},{"N":"0"},{"N":"0"}]}`
	s.mustSend(t, "SearchVectors", query)
	s.stop()
	if status, reply := s.send(t, "SearchVectors", query); status != 500 {
		t.Errorf("got %d %s", status, reply)
	}
}
