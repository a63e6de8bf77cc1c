// Package loggers is shared by the programs that measure Fluentd clients, each in a process
// of its own: the records, and the counting and timing of calls.
package loggers

// Tag is the tag of all records.
const Tag = "bench.loggers"

// Records has the kinds of records. Each call makes a new record if users do that too (a
// map), and otherwise fills in the same variable.
var Records = map[string]func() func(i int) any{
	"count":      count,
	"struct":     filled,
	"nested":     nested,
	"access":     access,
	"access map": accessMap,
}

// count returns the smallest record, as in the Go clients' own benchmarks.
func count() func(i int) any {
	return func(i int) any { return map[string]any{"count": i} }
}

// Wide is a struct of 26 fields.
type Wide struct {
	A string `msg:"a"`
	B string `msg:"b"`
	C string `msg:"c"`
	D string `msg:"d"`
	E string `msg:"e"`
	F string `msg:"f"`
	G string `msg:"g"`
	H string `msg:"h"`
	I string `msg:"i"`
	J string `msg:"j"`
	K string `msg:"k"`
	L string `msg:"l"`
	M string `msg:"m"`
	N string `msg:"n"`
	O string `msg:"o"`
	P string `msg:"p"`
	Q string `msg:"q"`
	R string `msg:"r"`
	S string `msg:"s"`
	T string `msg:"t"`
	U string `msg:"u"`
	V string `msg:"v"`
	W string `msg:"w"`
	X string `msg:"x"`
	Y string `msg:"y"`
	Z int    `msg:"z"`
}

func filled() func(i int) any {
	return func(i int) any {
		return Wide{"some", "text", "in", "each", "of", "the", "fields", "as", "a", "record", "of", "an", "application", "has",
			"it", "short", "or", "long", "but", "never", "very", "long", "and", "a", "number", i}
	}
}

// nested returns a map with maps and a list in it.
func nested() func(i int) any {
	return func(i int) any {
		return map[string]any{
			"event": "order.placed",
			"order": map[string]any{"id": i, "total": 129.5, "items": []any{"a-100", "b-200", "c-300"}},
			"user":  map[string]any{"name": "hanako", "admin": false},
		}
	}
}

// Access is a line of an access log.
type Access struct {
	RequestID string  `msg:"request_id"`
	Service   string  `msg:"service"`
	Operation string  `msg:"operation"`
	Table     string  `msg:"table"`
	Key       string  `msg:"key"`
	Status    int     `msg:"status"`
	Decision  string  `msg:"decision"`
	Duration  float64 `msg:"duration"`
	BytesIn   int     `msg:"bytes_in"`
	BytesOut  int     `msg:"bytes_out"`
	Client    string  `msg:"client"`
	UserAgent string  `msg:"user_agent"`
}

func access() func(i int) any {
	return func(i int) any {
		return Access{"01JD3V7Q5N8W2KX4T6M9B0RZCE", "orders", "GetItem", "orders-2026", "9f2c4be1a07d3358", 200, "hit", 0.000123, i, 1187,
			"203.0.113.7:52814", "aws-sdk-go-v2/1.47.6 os/linux lang/go#1.26 md/GOOS#linux"}
	}
}

func accessMap() func(i int) any {
	return func(i int) any {
		return map[string]any{"request_id": "01JD3V7Q5N8W2KX4T6M9B0RZCE", "service": "orders", "operation": "GetItem", "table": "orders-2026",
			"key": "9f2c4be1a07d3358", "status": 200, "decision": "hit", "duration": 0.000123, "bytes_in": i, "bytes_out": 1187,
			"client": "203.0.113.7:52814", "user_agent": "aws-sdk-go-v2/1.47.6 os/linux lang/go#1.26 md/GOOS#linux"}
	}
}
