package shape

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// TestOperationsExist checks that each operation here is one of the API.
func TestOperationsExist(t *testing.T) {
	known := map[string]bool{}
	for _, list := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		for _, o := range list {
			known[o.Name] = true
		}
	}
	for name := range operations {
		if !known[name] {
			t.Errorf("the API has no operation %s", name)
		}
	}
}

func TestTableName(t *testing.T) {
	f := func(named, want string, ok bool) {
		t.Helper()
		if name, got := TableName(named); got != ok || ok && name != want {
			t.Errorf("TableName(%q) = %q, %v; want %q, %v", named, name, got, want, ok)
		}
	}
	f("a", "a", true)
	f("Users.v-1_2", "Users.v-1_2", true)
	f("arn:aws:dynamodb:us-east-1:000000000000:table/Users", "Users", true)
	f("arn:aws-cn:dynamodb:cn-north-1:123456789012:table/a.b", "a.b", true)
	f("", "", false)
	f("a b", "", false)
	f("arn:aws:dynamodb:us-east-1:000000000000:table/Users/index/i", "", false)
	f("arn:aws:dynamodb:us-east-1:000000000000:table/Users:x", "", false)
	f("arn:aws:sqs:us-east-1:000000000000:table/Users", "", false)
}

// TestEchoBounded checks that a part of a request in a message is truncated between characters.
func TestEchoBounded(t *testing.T) {
	f := func(body string) {
		t.Helper()
		_, message := refusal(t, "TransactGetItems", body)
		if n := len(message); n < maxEcho || n > maxEcho+1000 || !utf8.ValidString(message) {
			t.Errorf("got a message of %d bytes, valid text: %v", n, utf8.ValidString(message))
		}
	}
	const get = `{"Get":{"TableName":"abc","Key":{"a":{"S":"äöü"}}}},`
	many := strings.Repeat(get, 10000)
	f(`{"TransactItems":[` + many[:len(many)-1] + `]}`)
	f(`{"TransactItems":[` + get[:strings.Index(get, "ä")] + strings.Repeat("ä", 200000) + `"}}}},` + many[:len(get)*101-1] + `]}`)
}

func FuzzCheck(f *testing.F) {
	names := make([]string, 0, len(operations))
	for name := range operations {
		names = append(names, name)
	}
	for _, name := range names {
		f.Add(name, `{"TableName":"","Key":{"a":{"B":"AA=="}},"Limit":0,"RequestItems":{"a":[{"PutRequest":{}}]},"Unknown":[null]}`)
		f.Add(name, `{"TransactItems":[{"Put":{"Item":{"a":{"M":{"b":{"L":[{"SS":["x"]}]}}}}}}],"Tags":[{"Key":"\u00e4"}],"StreamArn":1}`)
	}
	f.Add("GetItem", smallGet)
	f.Add("PutItem", smallPut)
	f.Add("CreateTable", `{"TableName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":null}`)
	f.Fuzz(func(t *testing.T, operation, body string) {
		b := []byte(body)
		if !wire.Valid(b, wire.MaxDepth) || wire.Kind([]byte(strings.TrimSpace(body))) != '{' {
			return
		}
		err := Check(operation, b)
		if err == nil {
			// The fast check must not miss errors that the complete one finds.
			if o := operations[operation]; o != nil && len(o.input().faults(b)) > 0 {
				t.Fatalf("%s %s: the fast check missed %v", operation, body, o.input().faults(b))
			}
			return
		}
		if e := err.(*wire.Error); e.Message == "" || strings.HasPrefix(e.Message, "0 ") {
			t.Fatalf("%s %s: the error has the message %q", operation, body, e.Message)
		}
	})
}
