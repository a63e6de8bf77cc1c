package accel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestSameAnswers sends random requests to two services with one origin and to a model without
// a cache. The replies must be equal through either service. This origin doesn't lag, so a
// query of a global index must also reflect each write at once.
func TestSameAnswers(t *testing.T) {
	configs := []string{"", "item=0", "query=0", "negative=0", "refresh=0.5 item=10s query=10s", "settle=5s"}
	for seed := range uint64(race.Part(24)) {
		config := configs[seed%uint64(len(configs))]
		t.Run(fmt.Sprintf("%d/%s", seed, config), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				s.config(config)
				s.start()
				services := []*Service{s.svc, s.second(func(cfg *Config) { cfg.ItemTTL, cfg.QueryTTL = time.Minute, 30*time.Second })}
				reference := newModel()
				reference.create([]byte(tableText(t)))
				g := &requestGenerator{rand.New(rand.NewPCG(seed, 7))}
				for n := range 1200 {
					op, body := g.request()
					_, want := reference.serve(op, []byte(body))
					s.svc = services[g.IntN(2)]
					x := s.send(op, body)
					if a, b := sortedJSON(op, want), sortedJSON(op, x.Reply.Body); a != b {
						t.Fatalf("step %d: %s %s\n%s\nwant %s\n got %s", n, op, body, x.Record.Decision, a, b)
					}
					if g.IntN(50) == 0 {
						s.run("wait 2s")
					}
				}
			})
		})
	}
}

// tableText returns the description of the scripts' table.
func tableText(t *testing.T) string {
	var d struct{ Table json.RawMessage }
	if err := json.Unmarshal([]byte(describeT), &d); err != nil {
		t.Fatal(err)
	}
	return string(d.Table)
}

// sortedJSON returns a reply in comparable form: the order of a batch's items is undefined.
func sortedJSON(op string, body []byte) string {
	if op == "BatchGetItem" {
		var b struct{ Responses map[string][]json.RawMessage }
		if json.Unmarshal(body, &b) == nil && b.Responses != nil {
			var items []string
			for _, it := range b.Responses["t"] {
				items = append(items, tidy(it))
			}
			slices.Sort(items)
			return strings.Join(items, "\n")
		}
	}
	return tidy(body)
}

// requestGenerator generates requests for few items, partitions and index partitions, so that
// many requests concern the same ones.
type requestGenerator struct{ *rand.Rand }

func (g *requestGenerator) oneOf(of ...string) string { return of[g.IntN(len(of))] }

func (g *requestGenerator) key() string {
	return `{"p":{"S":"` + g.oneOf("a", "b", `\u0061`) + `"},"s":{"N":"` + g.oneOf("1", "2", "1.0", "2e0") + `"}}`
}

func (g *requestGenerator) item() string {
	it := strings.TrimSuffix(g.key(), "}")
	for _, a := range []string{"g", "k", "l"} {
		if g.IntN(3) > 0 {
			it += fmt.Sprintf(`,"%s":{"S":"%s"}`, a, g.oneOf("x", "y", `\u0078`))
		}
	}
	if g.IntN(2) == 0 {
		it += `,"v":` + g.oneOf(`{"N":"1.50"}`, `{"N":"3"}`, `{"SS":["b","c"]}`, `{"S":""}`, `{"M":{"i":{"L":[{"NULL":true}]}}}`, `{"B":"YQ=="}`)
	}
	return it + "}"
}

func (g *requestGenerator) returns() string {
	return g.oneOf(``, ``, `,"ReturnValues":"NONE"`, `,"ReturnValues":"ALL_OLD"`)
}

// update returns an UpdateItem without its table and key.
func (g *requestGenerator) update() string {
	a, b := g.oneOf("g", "k", "l", "v"), g.oneOf("w", "n")
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf(`"UpdateExpression":"REMOVE %s"`, a)
	case 1:
		return fmt.Sprintf(`"UpdateExpression":"SET #a = :x","ExpressionAttributeNames":{"#a":"%s"},"ExpressionAttributeValues":{":x":{"S":"%s"}}`, a, g.oneOf("x", "y"))
	case 2:
		return fmt.Sprintf(`"UpdateExpression":"SET %s = if_not_exists(%s, :x) REMOVE %s","ExpressionAttributeValues":{":x":{"S":"%s"}}`, a, a, b, g.oneOf("x", "y"))
	case 3:
		return `"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}`
	case 4:
		return fmt.Sprintf(`"UpdateExpression":"SET %s = :x","ConditionExpression":"attribute_exists(%s)","ExpressionAttributeValues":{":x":{"S":"y"}}`, a, g.oneOf("g", "k"))
	}
	return fmt.Sprintf(`"UpdateExpression":"SET %s = :x, %s = :y","ExpressionAttributeValues":{":x":{"S":"x"},":y":{"N":"2.0"}}`, a, b)
}

func (g *requestGenerator) request() (op, body string) {
	const t = `{"TableName":"t",`
	kind := g.IntN(24)
	if kind >= 6 && kind <= 8 && g.IntN(4) > 0 {
		kind = 23 // writes that drop whole indexes or the table hide missing invalidations of others
	}
	switch kind {
	case 0, 1:
		return "PutItem", t + `"Item":` + g.item() + g.returns() + `}`
	case 2, 3:
		more := g.oneOf(g.returns(), `,"ReturnValues":"ALL_NEW"`, `,"ReturnValues":"UPDATED_OLD"`, `,"ReturnValues":"UPDATED_NEW"`)
		return "UpdateItem", t + `"Key":` + g.key() + `,` + g.update() + more + `}`
	case 4:
		return "UpdateItem", t + `"Key":` + g.key() + `,"AttributeUpdates":{"` + g.oneOf("g", "k", "v") + `":` + g.oneOf(`{"Value":{"S":"x"}}`, `{"Action":"DELETE"}`) + `}` + g.returns() + `}`
	case 5:
		return "DeleteItem", t + `"Key":` + g.key() + g.returns() + `}`
	case 6:
		return "BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":` + g.item() + `}},{"DeleteRequest":{"Key":` + g.key() + `}}]}}`
	case 7:
		return "TransactWriteItems", `{"TransactItems":[{"Update":` + t + `"Key":` + g.key() + `,` + g.update() + `}},{"Put":` + t + `"Item":` + g.item() + `}}]}`
	case 8:
		return "ExecuteStatement", `{"Statement":"UPDATE \"t\" SET ` + g.oneOf("g", "v") + ` = '` + g.oneOf("x", "y") + `' WHERE p = '` + g.oneOf("a", "b") + `' AND s = 1"}`
	case 9, 10, 11:
		return "GetItem", t + `"Key":` + g.key() + g.oneOf(``, ``, `,"ConsistentRead":true`, `,"ProjectionExpression":"v, g"`, `,"AttributesToGet":["k"]`) + `}`
	case 12:
		return "BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}},{"p":{"S":"b"},"s":{"N":"2.0"}},{"p":{"S":"c"},"s":{"N":"1"}}]` + g.oneOf(``, `,"ConsistentRead":true`, `,"ProjectionExpression":"g"`) + `}}}`
	case 13:
		return "Scan", t + g.oneOf(`"Limit":3`, `"IndexName":"byg"`, `"IndexName":"byk"`, `"Select":"COUNT"`) + `}`
	}
	by := g.oneOf("p", "byl", "byg", "byg", "byk", "byk")
	if by == "p" {
		return "Query", t + `"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"` + g.oneOf("a", "b", "c") + `"}}` + g.oneOf(``, `,"ConsistentRead":true`, `,"Limit":1`) + `}`
	}
	if by == "byl" {
		return "Query", t + `"IndexName":"byl","KeyConditionExpression":"p = :p AND l = :l","ExpressionAttributeValues":{":p":{"S":"a"},":l":{"S":"` + g.oneOf("x", "y") + `"}}}`
	}
	return "Query", t + `"IndexName":"` + by + `","KeyConditionExpression":"` + by[2:] + ` = :x","ExpressionAttributeValues":{":x":{"S":"` + g.oneOf("x", "y", `\u0079`) + `"}}` + g.oneOf(``, ``, `,"ScanIndexForward":false`, `,"ProjectionExpression":"p, s"`) + `}`
}
