package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkQuery measures a Query of 25 items of 1 KB.
func BenchmarkQuery(b *testing.B) {
	s := newQueryStore(b)
	for p := range 40 {
		for i := range 25 {
			s.put(b, "range", map[string]string{"a": fmt.Sprint("p", p), "b": fmt.Sprintf("%03d", i), "n:N": "12345", "v": strings.Repeat("v", 980)})
		}
	}
	f := func(name, members string) {
		b.Run(name, func(b *testing.B) {
			var requests [40]*Request
			for p := range requests {
				requests[p] = &Request{Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810.Query"),
					Body: []byte(`{"TableName":"range","KeyConditionExpression":"a = :a",` + members + `"ExpressionAttributeValues":{":a":{"S":"p` + fmt.Sprint(p) + `"}}}`)}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if resp, err := s.Do(requests[i%len(requests)]); err != nil || resp.Status != 200 {
					b.Fatal(err, string(resp.Body))
				}
			}
		})
	}
	f("whole", "")
	f("backward", `"ScanIndexForward":false,`)
	f("projection", `"ProjectionExpression":"b, n",`)
	f("filter", `"FilterExpression":"attribute_exists(n)",`)
}
