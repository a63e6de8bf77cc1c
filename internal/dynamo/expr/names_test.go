package expr

import (
	"fmt"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	var n Names
	f := func(placeholder, want string) {
		t.Helper()
		got, ok := n.Lookup([]byte(placeholder))
		if ok != (want != "") || string(got) != want {
			t.Errorf("Lookup(%s) = %q, %v; want %q", placeholder, got, ok, want)
		}
	}
	if err := n.Reset([]byte(someNames)); err != nil {
		t.Fatal(err)
	}
	f("#a", "a")
	f("#dot", "x.y")
	f("#esca", "a")
	f("#q", `say "no"`)
	f("#x", "")
	f(":a", "")
	f("a", "")
	if n.AllUsed() {
		t.Error("#b was not used")
	}
	if got, want := message(n.Unused()), "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #size, #i}"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	f("#b", "b")
	f("#size", "size")
	f("#i", "i")
	if !n.AllUsed() || n.Unused() != nil {
		t.Error("all were used")
	}
	if err := n.Reset(nil); err != nil || !n.AllUsed() {
		t.Error(err)
	}
	f("#a", "")
}

func TestManyNames(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"#n%d":"name%d"`, i*7919%1000, i*7919%1000)
	}
	n := names(t, "{"+b.String()[1:]+"}")
	for i := range 1000 {
		got, ok := n.Lookup(fmt.Appendf(nil, "#n%d", i))
		if !ok || string(got) != fmt.Sprintf("name%d", i) {
			t.Fatalf("#n%d is %q, %v", i, got, ok)
		}
	}
	if _, ok := n.Lookup([]byte("#n1000")); ok || !n.AllUsed() {
		t.Error("#n1000 is found, or not all names are used")
	}
	if err := n.Reset([]byte("{" + b.String()[1:] + `,"#n5":"again"}`)); err == nil {
		t.Error("a name twice among many")
	}
}

func TestNamesErrors(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		var n Names
		if got := message(n.Reset([]byte(raw))); got != want {
			t.Errorf("Reset(%.60s): %s; want %s", raw, got, want)
		}
	}
	f(`{}`, "ExpressionAttributeNames must not be empty")
	f(`[]`, "ExpressionAttributeNames is not an object")
	f(`{"a":"x"}`, `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`)
	f(`{"#":"x"}`, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`)
	f(`{":a":"x"}`, `ExpressionAttributeNames contains invalid key: Syntax error; key: ":a"`)
	f(`{"#a-b":"x"}`, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`)
	f(`{"#é":"x"}`, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#é"`)
	f(`{"#`+strings.Repeat("a", 255)+`":"x"}`, "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size of key: 256")
	f(`{"#a":""}`, "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a")
	f(`{"#a":1}`, "ExpressionAttributeNames contains invalid value: not a string for key #a")
	f(`{"#a":"\ud800"}`, "ExpressionAttributeNames contains invalid value: not a string for key #a")
	f(`{"#a":"`+strings.Repeat("a", 65536)+`"}`, "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 bytes for key #a")
	f(`{"#a":"x","#a":"y"}`, "ExpressionAttributeNames contains a key twice")
	f(`{"#a":"x","#\u0061":"y"}`, "ExpressionAttributeNames contains a key twice")
	f(`{"#`+strings.Repeat("a", 254)+`":"x"}`, "")
}

func TestValues(t *testing.T) {
	v := values(t, `{":a":{"S":"x"},":_1" : {"N":"1"}}`)
	if got, ok := v.Lookup([]byte(":_1")); !ok || string(got) != `{"N":"1"}` {
		t.Errorf(":_1 is %s, %v", got, ok)
	}
	if got, want := message(v.Unused()), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a}"; got != want || v.AllUsed() {
		t.Errorf("%s; want %s", got, want)
	}
	var none *Values
	if _, ok := none.Lookup([]byte(":a")); ok || !none.AllUsed() || none.Unused() != nil {
		t.Error("nil values are not empty")
	}
	var nameless *Names
	if _, ok := nameless.Lookup([]byte("#a")); ok || !nameless.AllUsed() || nameless.Unused() != nil {
		t.Error("nil names are not empty")
	}
}

func TestValuesErrors(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		var v Values
		if got := message(v.Reset([]byte(raw))); got != "ExpressionAttributeValues"+want {
			t.Errorf("Reset(%s): %s; want %s", raw, got, want)
		}
	}
	f(`{}`, " must not be empty")
	f(`{":`+strings.Repeat("a", 255)+`":{"S":"x"}}`, " contains invalid key: The expression attribute map contains a key that is too long;")
	f(`{"#a":{"S":"x"}}`, ` contains invalid key: Syntax error; key: "#a"`)
	f(`{":v":{}}`, " contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :v")
	f(`{":v":{"X":1}}`, " contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :v")
	f(`{":v":{"S":"a","N":"1"}}`, " contains invalid value: Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes for key :v")
	f(`{":v":{"NULL":false}}`, " contains invalid value: One or more parameter values were invalid: Null attribute value types must have the value of true for key :v")
	f(`{":v":{"SS":"a"}}`, " contains invalid value: Unexpected field type for key :v")
}

func TestReserved(t *testing.T) {
	for _, w := range []string{"NAME", "name", "Name", "size", "ABORT", "zone", "localTimestamp", "TTL"} {
		if !IsReserved([]byte(w)) {
			t.Errorf("%s is reserved", w)
		}
	}
	for _, w := range []string{"", "names_", "id", "username", "pk", "LOCALTIMESTAMPS", "nam", "a1", "begins_with", "contains"} {
		if IsReserved([]byte(w)) {
			t.Errorf("%s is not reserved", w)
		}
	}
	words := 0
	for _, w := range reserved.slots {
		if w == "" {
			continue
		}
		words++
		if !IsReserved([]byte(w)) || !IsReserved([]byte(strings.ToLower(w))) {
			t.Errorf("%s is not found", w)
		}
	}
	if words != 573 {
		t.Errorf("%d reserved words; want 573", words)
	}
}
