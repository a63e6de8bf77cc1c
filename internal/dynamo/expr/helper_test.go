package expr

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The placeholders used in the tables of this package's tests.
const (
	someNames = `{"#a":"a","#b":"b","#dot":"x.y","#size":"size","#esc\u0061":"\u0061","#q":"say \"no\"","#i":"i"}`
	// :s :t strings, :n :m numbers, ...
	someValues = `{":s":{"S":"abc"},":t":{"S":"abd"},":n":{"N":"5"},":m":{"N":"1"},":k":{"N":"1e3"},":b":{"B":"AAE="},":c":{"B":"AAI="},
		":true":{"BOOL":true},":null":{"NULL":true},":l":{"L":[]},":map":{"M":{}},":ss":{"SS":["a"]},":ns":{"NS":["1"]},":bs":{"BS":["AA=="]},
		":type":{"S":"SS"}}`
)

func names(t testing.TB, raw string) *Names {
	t.Helper()
	n := new(Names)
	if err := n.Reset([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	return n
}

func values(t testing.TB, raw string) *Values {
	t.Helper()
	v := new(Values)
	if err := v.Reset([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	return v
}

// message returns the text of a ValidationException, or another error with its type.
func message(err error) string {
	if err == nil {
		return ""
	}
	if fault := validation(err); fault != nil {
		return fault.Message
	}
	return err.Error()
}

func valid(t testing.TB, text []byte) []byte {
	t.Helper()
	if !wire.Valid(text, wire.MaxDepth) {
		t.Fatalf("not JSON: %s", text)
	}
	return text
}
