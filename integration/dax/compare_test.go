package dax

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSteps parses all steps: each has a unique name and a known operation.
func TestSteps(t *testing.T) {
	all, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]int{}
	names := map[string]bool{}
	for _, s := range all {
		if names[s.Step] {
			t.Errorf("two steps have the name %s", s.Step)
		}
		if !json.Valid(s.Params) {
			t.Errorf("step %s has no JSON: %s", s.Step, s.Params)
		}
		names[s.Step] = true
		operations[s.Op]++
	}
	for _, operation := range []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"} {
		if operations[operation] < 5 {
			t.Errorf("%d steps with %s", operations[operation], operation)
		}
		delete(operations, operation)
	}
	if len(operations) != 0 {
		t.Errorf("got operations that DAX doesn't have: %v", operations)
	}
	if _, err := parse("name GetItem {"); err == nil {
		t.Error("a step without JSON is accepted")
	}
	for _, table := range tables {
		if !json.Valid([]byte(table)) {
			t.Errorf("no JSON: %s", table)
		}
	}
}

// TestCompare checks that the comparison finds all differences and no others.
func TestCompare(t *testing.T) {
	const line = `{"side":"plain","step":"a","answer":{"Item":{"n":{"N":"100"},"s":{"SS":["a","b"]}},"Responses":{"t":[{"x":{"S":"1"}},{"x":{"S":"2"}}]}}}`
	f := func(name string, same bool, other string) {
		t.Helper()
		answers, err := read(line + "\n" + other + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if found := compare("any", []step{{Step: "a"}}, answers); (len(found) == 0) != same {
			t.Errorf("%s: same should be %t; differences: %q", name, same, found)
		}
	}
	through := strings.Replace(line, "plain", "dax", 1)
	f("the same", true, through)
	f("another spelling", true, strings.Replace(through, `"100"`, `"1E2"`, 1))
	f("another order", true, strings.Replace(through, `["a","b"]`, `["b","a"]`, 1))
	f("another order found", true, strings.Replace(through, `{"x":{"S":"1"}},{"x":{"S":"2"}}`, `{"x":{"S":"2"}},{"x":{"S":"1"}}`, 1))
	f("another number", false, strings.Replace(through, `"100"`, `"100.1"`, 1))
	f("another type", false, strings.Replace(through, `"N":"100"`, `"S":"100"`, 1))
	f("less", false, strings.Replace(through, `["a","b"]`, `["a"]`, 1))
	f("an error", false, `{"side":"dax","step":"a","error":{"code":"x","message":"y"}}`)
	f("an empty list", false, strings.Replace(through, `{"Item"`, `{"Items":[],"Item"`, 1))
	f("no answer", false, "")
	f("two answers", false, through+"\n"+through)
}
