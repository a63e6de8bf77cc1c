package dax

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed steps/*.txt
var files embed.FS

// step is one call of a client.
type step struct {
	Step   string          `json:"step"`
	Op     string          `json:"op"`
	Pages  bool            `json:"pages,omitempty"` // all pages, one call each
	Params json.RawMessage `json:"params"`
}

// tables are the requests that create the tables of a run, with RUN- as the placeholder of
// its prefix.
var tables = []string{
	simple("s", "id", "S"), simple("n", "id", "N"), simple("b", "id", "B"), simple("empty", "id", "S"),
	composite("sn", "S", "N"), composite("ss", "S", "S"), composite("sb", "S", "B"),
	composite("ns", "N", "S"), composite("nn", "N", "N"), composite("nb", "N", "B"),
	composite("bs", "B", "S"), composite("bn", "B", "N"), composite("bb", "B", "B"),
	`{"TableName":"RUN-music","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"artist","AttributeType":"S"},{"AttributeName":"year","AttributeType":"N"},{"AttributeName":"title","AttributeType":"S"},
		{"AttributeName":"genre","AttributeType":"S"},{"AttributeName":"label","AttributeType":"N"}],
	"KeySchema":[{"AttributeName":"artist","KeyType":"HASH"},{"AttributeName":"year","KeyType":"RANGE"}],
	"LocalSecondaryIndexes":[{"IndexName":"by-title","KeySchema":[{"AttributeName":"artist","KeyType":"HASH"},{"AttributeName":"title","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
	"GlobalSecondaryIndexes":[{"IndexName":"by-genre","KeySchema":[{"AttributeName":"genre","KeyType":"HASH"},{"AttributeName":"year","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"by-label","KeySchema":[{"AttributeName":"label","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`,
}

func simple(name, hash, typ string) string {
	return fmt.Sprintf(`{"TableName":"RUN-%s","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":%q,"AttributeType":%q}],
		"KeySchema":[{"AttributeName":%[2]q,"KeyType":"HASH"}]}`, name, hash, typ)
}

func composite(name, hash, sort string) string {
	return fmt.Sprintf(`{"TableName":"RUN-%s","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"p","AttributeType":%q},{"AttributeName":"s","AttributeType":%q}],
		"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}]}`, name, hash, sort)
}

// keys are values of key attributes, in order within their type. The Python client can't
// read sort keys with more digits than the largest multiple of three below 38.
var keys = map[byte][]string{
	'S': {`{"S":"a"}`, `{"S":"aa"}`, `{"S":"ключ"}`, `{"S":"🚀"}`},
	'N': {`{"N":"-1E20"}`, `{"N":"-1.5"}`, `{"N":"0"}`, `{"N":"0.001"}`, `{"N":"3.14"}`, `{"N":"1000"}`, `{"N":"123456789012345678901234567890123456"}`, `{"N":"1E125"}`},
	'B': {`{"B":"AA=="}`, `{"B":"AAE="}`, `{"B":"/wA="}`},
}

// steps returns all steps. The files are in an order in which each finds its prerequisites.
func steps() ([]step, error) {
	all := keySteps()
	for _, name := range []string{"items", "updates", "conditions", "queries", "batches", "transactions"} {
		text, err := files.ReadFile("steps/" + name + ".txt")
		if err != nil {
			return nil, err
		}
		some, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// parse parses lines of steps. Reads are executed twice: the second one is served from a
// cache.
func parse(text string) (all []step, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		operation, params, _ := strings.Cut(rest, " ")
		params, pages := strings.CutPrefix(params, "* ")
		if !json.Valid([]byte(params)) {
			return nil, fmt.Errorf("step %s: no JSON: %s", name, params)
		}
		all = append(all, twice(step{name, operation, pages, json.RawMessage(params)})...)
	}
	return all, nil
}

// twice returns a step, repeated if it may be served from memory.
func twice(s step) []step {
	switch s.Op {
	case "GetItem", "BatchGetItem", "Query", "Scan":
		again := s
		again.Step += "-again"
		return []step{s, again}
	}
	return []step{s}
}

// keySteps returns the same steps for tables of every key schema.
func keySteps() (all []step) {
	do := func(name, operation, format string, of ...any) {
		all = append(all, twice(step{Step: name, Op: operation, Params: json.RawMessage(fmt.Sprintf(format, of...))})...)
	}
	one := func(table, what, key string) {
		do("key-put-"+what, "PutItem", `{"TableName":"RUN-%s","Item":{%s,"v":{"N":"1"}}}`, table, key)
		do("key-get-"+what, "GetItem", `{"TableName":"RUN-%s","Key":{%s}}`, table, key)
		do("key-update-"+what, "UpdateItem", `{"TableName":"RUN-%s","Key":{%s},"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}},"ReturnValues":"ALL_NEW"}`, table, key)
	}
	for typ, values := range ordered() {
		table := strings.ToLower(string(typ))
		for i, value := range values {
			one(table, fmt.Sprintf("%s-%d", table, i), `"id":`+value)
		}
		do("key-scan-"+table, "Scan", `{"TableName":"RUN-%s"}`, table)
		do("key-batch-"+table, "BatchGetItem", `{"RequestItems":{"RUN-%s":{"Keys":[{"id":%s},{"id":%s}]}}}`, table, values[0], values[1])
		do("key-delete-"+table, "DeleteItem", `{"TableName":"RUN-%s","Key":{"id":%s},"ReturnValues":"ALL_OLD"}`, table, values[2])
	}
	for hash, hashes := range ordered() {
		for sort, sorts := range ordered() {
			table := strings.ToLower(string(hash) + string(sort))
			for i, value := range sorts {
				one(table, fmt.Sprintf("%s-%d", table, i), `"p":`+hashes[1]+`,"s":`+value)
			}
			one(table, table+"-other", `"p":`+hashes[0]+`,"s":`+sorts[0])
			do("key-query-"+table, "Query", `{"TableName":"RUN-%s","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":%s}}`, table, hashes[1])
			do("key-query-from-"+table, "Query", `{"TableName":"RUN-%s","KeyConditionExpression":"p = :p AND s > :s","ExpressionAttributeValues":{":p":%s,":s":%s}}`, table, hashes[1], sorts[0])
			all = append(all, step{"key-pages-" + table, "Query", true, json.RawMessage(fmt.Sprintf(`{"TableName":"RUN-%s","Limit":2,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":%s}}`, table, hashes[1]))},
				step{"key-scan-pages-" + table, "Scan", true, json.RawMessage(fmt.Sprintf(`{"TableName":"RUN-%s","Limit":3}`, table))})
			do("key-delete-"+table, "DeleteItem", `{"TableName":"RUN-%s","Key":{"p":%s,"s":%s},"ReturnValues":"ALL_OLD"}`, table, hashes[1], sorts[1])
			do("key-transact-"+table, "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"RUN-%[1]s","Key":{"p":%[2]s,"s":%[3]s}}},{"Get":{"TableName":"RUN-%[1]s","Key":{"p":%[2]s,"s":%[4]s}}}]}`, table, hashes[1], sorts[1], sorts[2])
		}
	}
	return all
}

// ordered yields keys in a fixed order.
func ordered() func(yield func(byte, []string) bool) {
	return func(yield func(byte, []string) bool) {
		for _, typ := range []byte("SNB") {
			if !yield(typ, keys[typ]) {
				return
			}
		}
	}
}

// lines returns the input of a driver.
func lines(all []step) ([]byte, error) {
	var b bytes.Buffer
	for _, s := range all {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Step, err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}
