// Package configs runs the same operations under many random configurations. With all times,
// sizes and switches, the answers must be those of the origin itself: a cache may be faster,
// but not different.
package configs

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// step is one request of a list, or a purge.
type step struct {
	operation string // "purge" for the admin API
	body      string
}

func (s step) String() string { return s.operation + " " + s.body }

const createTable = `{"TableName":"many","BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"},{"AttributeName":"r","AttributeType":"N"}],
"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
"GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`

// generator draws requests for few keys, so that many requests have the same key.
type generator struct {
	*rand.Rand
	n int
}

// steps returns a list of n steps, which depends on the seed only.
func steps(seed uint64, n int) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
	list := []step{{"CreateTable", createTable}}
	for range n {
		list = append(list, g.step())
	}
	return list
}

func (g *generator) step() step {
	g.n++
	switch k := g.IntN(100); {
	case k < 12:
		return step{"PutItem", fmt.Sprintf(`{"TableName":"many","Item":%s%s}`, g.item(), g.one("", `,"ReturnValues":"ALL_OLD"`, g.condition()))}
	case k < 22:
		return g.update()
	case k < 27:
		return step{"DeleteItem", fmt.Sprintf(`{"TableName":"many","Key":%s%s}`, g.key(), g.one("", `,"ReturnValues":"ALL_OLD"`, g.condition()))}
	case k < 31:
		return g.batchWrite()
	case k < 35:
		return g.transactWrite()
	case k < 58:
		return step{"GetItem", fmt.Sprintf(`{"TableName":"many","Key":%s%s}`, g.key(), g.readOptions())}
	case k < 68:
		return g.batchGet()
	case k < 71:
		return step{"TransactGetItems", fmt.Sprintf(`{"TransactItems":[{"Get":{"TableName":"many","Key":%s}},{"Get":{"TableName":"many","Key":%s}}]}`, g.key(), g.key())}
	case k < 84:
		return g.query()
	case k < 92:
		return g.queryIndex()
	case k < 97:
		return step{"Scan", fmt.Sprintf(`{"TableName":"many"%s}`, g.one("", `,"Limit":3`, `,"ConsistentRead":true`, `,"ProjectionExpression":"p, s, n"`,
			`,"FilterExpression":"n > :n","ExpressionAttributeValues":{":n":{"N":"20"}}`))}
	case k < 98:
		return step{"DescribeTable", `{"TableName":"many"}`}
	}
	return step{"purge", g.one(`{"service":"db"}`, `{"service":"db","table":"many"}`, fmt.Sprintf(`{"service":"db","table":"many","key":%s}`, g.key()))}
}

// one draws one of the texts.
func (g *generator) one(texts ...string) string { return texts[g.IntN(len(texts))] }

func (g *generator) partition() string { return g.one("a", "b", "日本") }

// key returns a sort key in one of the spellings of its number.
func (g *generator) key() string {
	n := g.IntN(4)
	return fmt.Sprintf(`{"p":{"S":"%s"},"s":{"N":"%s"}}`, g.partition(), g.one(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%d.0", n), fmt.Sprintf("%de0", n)))
}

func (g *generator) item() string {
	fields := []string{fmt.Sprintf(`"p":{"S":"%s"},"s":{"N":"%d"}`, g.partition(), g.IntN(4))}
	if g.IntN(5) > 0 {
		fields = append(fields, fmt.Sprintf(`"g":{"S":"%s"},"r":{"N":"%d"}`, g.one("x", "y"), g.n))
	}
	fields = append(fields, fmt.Sprintf(`"n":{"N":"%d"}`, g.n))
	if g.IntN(3) == 0 {
		fields = append(fields, fmt.Sprintf(`"big":{"S":"%s"}`, strings.Repeat("x", g.IntN(60_000))))
	}
	if g.IntN(3) == 0 {
		fields = append(fields, `"m":{"M":{"l":{"L":[{"S":"\u0041\"é"},{"NULL":true},{"BOOL":false},{"B":"AAH/"}]}}},"ss":{"SS":["b","a"]}`)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func (g *generator) condition() string {
	return g.one(`,"ConditionExpression":"attribute_not_exists(p)"`, `,"ConditionExpression":"attribute_exists(#n)","ExpressionAttributeNames":{"#n":"n"}`,
		`,"ConditionExpression":"n < :c","ExpressionAttributeValues":{":c":{"N":"50"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)
}

func (g *generator) update() step {
	expression := g.one(
		fmt.Sprintf(`"SET n = :n","ExpressionAttributeValues":{":n":{"N":"%d"}}`, g.n),
		`"SET #n = if_not_exists(#n, :z) + :one REMOVE big","ExpressionAttributeNames":{"#n":"n"},"ExpressionAttributeValues":{":z":{"N":"0"},":one":{"N":"1"}}`,
		`"ADD hits :one","ExpressionAttributeValues":{":one":{"N":"1.5"}}`,
		`"REMOVE g, r"`,
		fmt.Sprintf(`"SET g = :g, r = :r","ExpressionAttributeValues":{":g":{"S":"%s"},":r":{"N":"%d"}}`, g.one("x", "y"), g.n))
	return step{"UpdateItem", fmt.Sprintf(`{"TableName":"many","Key":%s,"UpdateExpression":%s%s}`, g.key(), expression,
		g.one("", `,"ReturnValues":"ALL_NEW"`, `,"ReturnValues":"ALL_OLD"`))}
}

// distinct draws n different keys.
func (g *generator) distinct(n int) []string {
	var keys []string
	for _, i := range g.Perm(12)[:n] {
		keys = append(keys, fmt.Sprintf(`{"p":{"S":"%s"},"s":{"N":"%d"}}`, []string{"a", "b", "日本"}[i/4], i%4))
	}
	return keys
}

func (g *generator) batchWrite() step {
	var members []string
	for _, key := range g.distinct(1 + g.IntN(6)) {
		if g.IntN(3) == 0 {
			members = append(members, `{"DeleteRequest":{"Key":`+key+`}}`)
			continue
		}
		item := strings.TrimSuffix(key, "}") + fmt.Sprintf(`,"n":{"N":"%d"},"g":{"S":"x"},"r":{"N":"1"}}`, g.n)
		members = append(members, `{"PutRequest":{"Item":`+item+`}}`)
	}
	return step{"BatchWriteItem", `{"RequestItems":{"many":[` + strings.Join(members, ",") + `]}}`}
}

func (g *generator) transactWrite() step {
	keys := g.distinct(3)
	return step{"TransactWriteItems", fmt.Sprintf(`{"TransactItems":[
{"Put":{"TableName":"many","Item":%s,"n":{"N":"%d"}}%s}},
{"Update":{"TableName":"many","Key":%s,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}},
{"Delete":{"TableName":"many","Key":%s}}]}`,
		strings.TrimSuffix(keys[0], "}"), g.n, g.one("", "", `,"ConditionExpression":"attribute_not_exists(p)"`), keys[1], keys[2])}
}

func (g *generator) readOptions() string {
	return g.one("", "", "", `,"ConsistentRead":true`, `,"ProjectionExpression":"n, ss"`, `,"ProjectionExpression":"#g,s","ExpressionAttributeNames":{"#g":"g"}`,
		`,"ProjectionExpression":"absent"`)
}

func (g *generator) batchGet() step {
	return step{"BatchGetItem", fmt.Sprintf(`{"RequestItems":{"many":{"Keys":[%s]%s}}}`, strings.Join(g.distinct(1+g.IntN(8)), ","), g.readOptions())}
}

func (g *generator) query() step {
	condition := g.one(`p = :p`, `p = :p AND s > :s`, `s BETWEEN :s AND :t AND p=:p`)
	values := fmt.Sprintf(`":p":{"S":"%s"}`, g.partition())
	if strings.Contains(condition, ":s") {
		values += `,":s":{"N":"1"}`
	}
	if strings.Contains(condition, ":t") {
		values += `,":t":{"N":"2.0"}`
	}
	return step{"Query", fmt.Sprintf(`{"TableName":"many","KeyConditionExpression":"%s","ExpressionAttributeValues":{%s}%s}`, condition, values,
		g.one("", "", `,"ScanIndexForward":false`, `,"Limit":2`, `,"ConsistentRead":true`, `,"ProjectionExpression":"n"`, `,"Select":"COUNT"`,
			`,"FilterExpression":"attribute_exists(ss)"`))}
}

func (g *generator) queryIndex() step {
	return step{"Query", fmt.Sprintf(`{"TableName":"many","IndexName":"by-g","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"%s"}}%s}`,
		g.one("x", "y"), g.one("", "", `,"ScanIndexForward":false`, `,"Limit":2`, `,"ProjectionExpression":"p,s,n"`))}
}

// config returns the lines of a random configuration: those of the service and those of the
// file's top level. lagging reports whether replicas may lag: by less than the shortest
// settle time, and only if every answer is cached, since an answer that is passed through is
// as old as the origin's.
func config(r *rand.Rand) (service, top []string, lagging bool) {
	one := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	item, query := one("0s", "1ms", "20ms", "5m", "5m"), one("0s", "1ms", "20ms", "5m", "5m")
	service = []string{
		"auth: {mode: none}",
		"item_ttl: " + item,
		"query_ttl: " + query,
		"negative_ttl: " + one("0s", "1ms", "5m"),
		"settle: " + one("50ms", "1s", "30s"),
		"quarantine: " + one("0s", "10s"),
		"refresh_ahead: " + one("true", "false", "0.9"),
	}
	lagging = item != "0s" && query != "0s"
	if r.IntN(3) == 0 {
		service = append(service, "tables:", "  \"man*\": {"+one("cache: false", "item_ttl: 3ms", "query_ttl: 0s")+"}")
		lagging = false
	}
	if r.IntN(3) == 0 {
		service = append(service, "concurrency: {enabled: false}", "breaker: {enabled: false}")
	}
	memory := one("1MiB", "16MiB")
	if memory == "16MiB" && r.IntN(2) == 0 {
		service = append(service, "memory: "+one("1MiB", "8MiB"))
	}
	return service, []string{"cache: {memory: " + memory + "}"}, lagging
}
