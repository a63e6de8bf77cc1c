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
		t.Errorf("got %s; want %s", got, want)
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
			t.Fatalf("#n%d: got %q, %v", i, got, ok)
		}
	}
	if _, ok := n.Lookup([]byte("#n1000")); ok || !n.AllUsed() {
		t.Error("#n1000 was found, or names are unused")
	}
	if err := n.Reset([]byte("{" + b.String()[1:] + `,"#n5":"again"}`)); err == nil {
		t.Error("a duplicate name was accepted")
	}
}

func TestNamesErrors(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		var n Names
		if got := message(n.Reset([]byte(raw))); got != want {
			t.Errorf("Reset(%.60s): got %s; want %s", raw, got, want)
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
	var large strings.Builder
	for i := range 33 {
		fmt.Fprintf(&large, `,"#a%d":"%s"`, i, strings.Repeat("n", 65000))
	}
	f("{"+large.String()[1:]+"}", "ExpressionAttributeNames exceeds max size")
	f(`{"#a":"x","#\u0061":"y"}`, "ExpressionAttributeNames contains a key twice")
	f(`{"#`+strings.Repeat("a", 254)+`":"x"}`, "")
}

func TestValues(t *testing.T) {
	v := values(t, `{":a":{"S":"x"},":_1" : {"N":"1"}}`)
	if got, ok := v.Lookup([]byte(":_1")); !ok || string(got) != `{"N":"1"}` {
		t.Errorf(":_1: got %s, %v", got, ok)
	}
	if got, want := message(v.Unused()), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a}"; got != want || v.AllUsed() {
		t.Errorf("got %s; want %s", got, want)
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
			t.Errorf("Reset(%s): got %s; want %s", raw, got, want)
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

// TestValuesLoad checks that all errors of values, keys first, are found before an expression is
// parsed.
func TestValuesLoad(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		var v Values
		if got := message(v.Load([]byte(raw))); got != want {
			t.Errorf("Load(%.80s): got %.200s; want %s", raw, got, want)
		}
	}
	const (
		invalid = "ExpressionAttributeValues contains invalid value: "
		rule    = "One or more parameter values were invalid: "
	)
	f(`{":a":{"N":"1"},":b":{"M":{"x":{"L":[{"S":""}]}}}}`, "")
	f(`{}`, "ExpressionAttributeValues must not be empty")
	f(`{":a":{"N":"x"},"b":{"S":"x"}}`, `ExpressionAttributeValues contains invalid key: Syntax error; key: "b"`)
	f(`{":a":{"N":"x"}}`, invalid+"The parameter cannot be converted to a numeric value: x for key :a")
	f(`{":a":{"N":""}}`, invalid+"The parameter cannot be converted to a numeric value for key :a")
	f(`{":a":{"L":[{"S":"x"},{"N":"1"},{}]}}`, invalid+"Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :a")
	f(`{":a":{"S":"x","N":"1"}}`, invalid+"Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes for key :a")
	f(`{":a":{"NULL":false}}`, invalid+rule+"Null attribute value types must have the value of true for key :a")
	f(`{":a":{"SS":[]}}`, invalid+rule+"An string set  may not be empty for key :a")
	f(`{":a":{"NS":["1","1.0"]}}`, invalid+"Input collection contains duplicates for key :a")
	f(`{":a":{"SS":["a","a"]}}`, invalid+rule+"Input collection [a, a] contains duplicates. for key :a")
	f(`{":a":{"N":"123456789012345678901234567890123456789"}}`, invalid+"Attempting to store more than 38 significant digits in a Number for key :a")
	f(`{":a":{"N":"1e126"}}`, invalid+"Number overflow. Attempting to store a number with magnitude larger than supported range for key :a")
	f(`{":a":`+strings.Repeat(`{"L":[`, 32)+`{"S":"x"}`+strings.Repeat(`]}`, 32)+`}`,
		invalid+"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit for key :a")
	f(`{":a":{"S":"`+strings.Repeat("x", 2<<20-2)+`"}}`, "")
	f(`{":a":{"S":"`+strings.Repeat("x", 2<<20-1)+`"}}`, "ExpressionAttributeValues exceeds max size")
	f(`{":a":{"N":1}}`, "SerializationException: NUMBER_VALUE cannot be converted to String")
	if err := new(Values).Load(nil); err != nil {
		t.Error(err)
	}

	// A value that was only scanned is parsed when a tree needs it.
	v := values(t, `{":bad":{"N":"x"},":n":{"N":"1e1"}}`)
	if _, err := ParseCondition("Filter", []byte("a = :bad"), nil, v); message(err) != "Invalid FilterExpression: "+invalid+"The parameter cannot be converted to a numeric value: x for key :bad" {
		t.Error(err)
	}
	c, err := ParseCondition("Filter", []byte("a = :n OR b = :n"), nil, v)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := c.Root.Nodes[0].Args[1], c.Root.Nodes[1].Args[1]; a.Value != b.Value || string(a.Value.Text) != "10" || string(a.Text) != `{"N":"1e1"}` {
		t.Errorf("%s and %s are not the same value", a.Value.Append(nil), b.Value.Append(nil))
	}
}

func TestReserved(t *testing.T) {
	for _, w := range []string{"NAME", "name", "Name", "size", "ABORT", "zone", "localTimestamp", "TTL"} {
		if !reserved().has([]byte(w)) {
			t.Errorf("%s is reserved", w)
		}
	}
	for _, w := range []string{"", "names_", "id", "username", "pk", "LOCALTIMESTAMPS", "nam", "a1", "begins_with", "contains"} {
		if reserved().has([]byte(w)) {
			t.Errorf("%s is not reserved", w)
		}
	}
	words := 0
	for _, w := range reserved().slots {
		if w == "" {
			continue
		}
		words++
		if !reserved().has([]byte(w)) || !reserved().has([]byte(strings.ToLower(w))) {
			t.Errorf("%s is not found", w)
		}
	}
	if words != 573 {
		t.Errorf("got %d reserved words; want 573", words)
	}
}
