package expr

import (
	"strings"
	"testing"
)

// cond returns a condition on the attribute a.
func cond(operator, list string) string {
	return `{"a":{"ComparisonOperator":"` + operator + `","AttributeValueList":` + list + `}}`
}

// TestLegacyFilterMeaning compares each operator on attributes of several types with its equivalent
// in an expression.
func TestLegacyFilterMeaning(t *testing.T) {
	f := func(operator, list, want, of, notOf string) {
		t.Helper()
		c, err := LegacyFilter([]byte(cond(operator, list)), "")
		if err != nil {
			t.Errorf("%s %s: %v", operator, list, err)
			return
		}
		if got := c.String(); got != want {
			t.Errorf("%s %s: got %s; want %s", operator, list, got, want)
		}
		for _, v := range strings.Fields(of) {
			if !c.Match(item(t, `{"a":`+v+`}`)) {
				t.Errorf("%s %s is false for %s", operator, list, v)
			}
		}
		for _, v := range strings.Fields(notOf) {
			if c.Match(item(t, `{"a":`+v+`}`)) {
				t.Errorf("%s %s is true for %s", operator, list, v)
			}
		}
		if got, want := c.Match(item(t, `{}`)), operator == "NE" || operator == "NULL"; got != want {
			t.Errorf("%s %s is %v for a missing attribute", operator, list, got)
		}
	}
	f("EQ", `[{"N":"1.0"}]`, `(= [a] {"N":"1"})`, `{"N":"1"}`, `{"N":"2"} {"S":"1"} {"NS":["1"]}`)
	f("EQ", `[{"L":[]}]`, `(= [a] {"L":[]})`, `{"L":[]}`, `{"M":{}} {"L":[{"N":"1"}]}`)
	f("EQ", `[{"M":{"x":{"S":"y"}}}]`, `(= [a] {"M":{"x":{"S":"y"}}})`, `{"M":{"x":{"S":"y"}}}`, `{"M":{}}`)
	f("EQ", `[{"BOOL":true}]`, `(= [a] {"BOOL":true})`, `{"BOOL":true}`, `{"BOOL":false} {"NULL":true}`)
	f("EQ", `[{"SS":["a","b"]}]`, `(= [a] {"SS":["a","b"]})`, `{"SS":["b","a"]}`, `{"SS":["a"]} {"S":"a"}`)
	f("NE", `[{"N":"1"}]`, `(<> [a] {"N":"1"})`, `{"N":"2"} {"S":"1"}`, `{"N":"1.0"}`)
	f("LT", `[{"N":"5"}]`, `(< [a] {"N":"5"})`, `{"N":"4.9"}`, `{"N":"5"} {"N":"6"} {"S":"4"}`)
	f("LE", `[{"S":"b"}]`, `(<= [a] {"S":"b"})`, `{"S":"b"} {"S":"a"}`, `{"S":"c"} {"N":"1"}`)
	f("GT", `[{"B":"AQ=="}]`, `(> [a] {"B":"AQ=="})`, `{"B":"Ag=="}`, `{"B":"AQ=="} {"B":"AA=="}`)
	f("GE", `[{"N":"5"}]`, `(>= [a] {"N":"5"})`, `{"N":"5"} {"N":"6"}`, `{"N":"4"}`)
	f("BETWEEN", `[{"N":"1"},{"N":"3"}]`, `(between [a] {"N":"1"} {"N":"3"})`, `{"N":"1"} {"N":"3"}`, `{"N":"0"} {"N":"4"} {"S":"2"}`)
	f("BETWEEN", `[{"S":"a"},{"S":"a"}]`, `(between [a] {"S":"a"} {"S":"a"})`, `{"S":"a"}`, `{"S":"b"}`)
	f("IN", `[{"S":"a"}]`, `(in [a] {"S":"a"})`, `{"S":"a"}`, `{"S":"b"} {"SS":["a"]}`)
	f("IN", `[{"N":"1"},{"N":"2"}]`, `(in [a] {"N":"1"} {"N":"2"})`, `{"N":"2"}`, `{"N":"3"} {"S":"1"}`)
	f("BEGINS_WITH", `[{"S":"ab"}]`, `(begins_with [a] {"S":"ab"})`, `{"S":"abc"}`, `{"S":"b"} {"B":"YWJj"}`)
	f("BEGINS_WITH", `[{"B":"YWI="}]`, `(begins_with [a] {"B":"YWI="})`, `{"B":"YWJj"}`, `{"S":"abc"}`)
	f("CONTAINS", `[{"S":"b"}]`, `(contains [a] {"S":"b"})`, `{"S":"abc"} {"SS":["b"]} {"L":[{"N":"1"},{"S":"b"}]}`, `{"S":"c"} {"SS":["abc"]} {"N":"1"}`)
	f("CONTAINS", `[{"N":"1"}]`, `(contains [a] {"N":"1"})`, `{"NS":["2","1.0"]} {"L":[{"N":"1"}]}`, `{"N":"1"} {"SS":["1"]} {"S":"1"}`)
	f("CONTAINS", `[{"BOOL":true}]`, `(contains [a] {"BOOL":true})`, `{"L":[{"BOOL":true}]}`, `{"BOOL":true}`)
	f("NOT_CONTAINS", `[{"S":"b"}]`, `(and (attribute_exists [a]) (not (contains [a] {"S":"b"})))`, `{"S":"c"} {"SS":["abc"]} {"N":"1"}`, `{"S":"abc"} {"SS":["b"]} {"L":[{"S":"b"}]}`)
	f("NULL", `[]`, `(attribute_not_exists [a])`, ``, `{"NULL":true} {"S":""}`)
	f("NOT_NULL", `[]`, `(attribute_exists [a])`, `{"NULL":true} {"S":""}`, ``)
}

func TestLegacyFilterJoined(t *testing.T) {
	f := func(obj, operator, want string) {
		t.Helper()
		c, err := LegacyFilter([]byte(obj), operator)
		got := ""
		if c != nil {
			got = c.String()
		}
		if err != nil || got != want {
			t.Errorf("%s %s: got %s, %v; want %s", obj, operator, got, err, want)
		}
		if c != nil && !c.Legacy {
			t.Errorf("%s: not legacy", obj)
		}
	}
	const two = `{"a":{"ComparisonOperator":"NULL"},"\u0062":{"ComparisonOperator":"NOT_NULL","AttributeValueList":[]}}`
	f(two, "", `(and (attribute_not_exists [a]) (attribute_exists [b]))`)
	f(two, "AND", `(and (attribute_not_exists [a]) (attribute_exists [b]))`)
	f(two, "OR", `(or (attribute_not_exists [a]) (attribute_exists [b]))`)
	f(`{"a.b":{"ComparisonOperator":"NULL"}}`, "", `(attribute_not_exists [a.b])`)
	f(`{}`, "", "")
	if c, err := LegacyFilter(nil, ""); c != nil || err != nil {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestLegacyFilterErrors(t *testing.T) {
	f := func(obj, operator, want string) {
		t.Helper()
		if _, err := LegacyFilter([]byte(obj), operator); message(err) != want {
			t.Errorf("%.100s %s: got %v; want %s", obj, operator, err, want)
		}
	}
	const invalid = "One or more parameter values were invalid: "
	for operator, lists := range map[string][]string{
		"EQ": {`[]`, `[{"S":"a"},{"S":"a"}]`}, "NE": {`[]`}, "LT": {`[]`}, "LE": {`[]`}, "GT": {`[]`}, "GE": {`[{"N":"1"},{"N":"2"}]`},
		"BETWEEN": {`[]`, `[{"N":"1"}]`, `[{"N":"1"},{"N":"2"},{"N":"3"}]`}, "IN": {`[]`}, "BEGINS_WITH": {`[]`}, "CONTAINS": {`[]`, `[{"S":"a"},{"N":"1"}]`},
		"NOT_CONTAINS": {`[]`}, "NULL": {`[{"S":"a"}]`}, "NOT_NULL": {`[{"S":"a"}]`},
	} {
		for _, list := range lists {
			f(cond(operator, list), "", invalid+"Invalid number of argument(s) for the "+operator+" ComparisonOperator")
		}
	}
	f(`{"a":{"ComparisonOperator":"EQ"}}`, "", invalid+"Invalid number of argument(s) for the EQ ComparisonOperator")
	f(cond("BETWEEN", `[{"S":"a"},{"N":"1"}]`), "", invalid+"AttributeValues inside AttributeValueList must be of same type")
	f(cond("IN", `[{"S":"a"},{"N":"1"},{"SS":["a"]}]`), "", invalid+"AttributeValues inside AttributeValueList must be of same type")
	f(cond("IN", `[{"S":"a"},{"SS":["a"]},{"N":"1"}]`), "", invalid+"ComparisonOperator IN is not valid for SS AttributeValue type")
	for _, operator := range []string{"LT", "LE", "GT", "GE", "IN"} {
		for typ, v := range map[string]string{"BOOL": "true", "NULL": "true", "SS": `["a"]`, "NS": `["1"]`, "BS": `["AA=="]`, "L": "[]", "M": "{}"} {
			f(cond(operator, `[{"`+typ+`":`+v+`}]`), "", invalid+"ComparisonOperator "+operator+" is not valid for "+typ+" AttributeValue type")
		}
	}
	f(cond("BETWEEN", `[{"BOOL":true},{"BOOL":true}]`), "", invalid+"ComparisonOperator BETWEEN is not valid for BOOL AttributeValue type")
	f(cond("BEGINS_WITH", `[{"N":"1"}]`), "", invalid+"ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type")
	f(cond("CONTAINS", `[{"SS":["a"]}]`), "", invalid+"ComparisonOperator CONTAINS is not valid for SS AttributeValue type")
	f(cond("NOT_CONTAINS", `[{"L":[]}]`), "", invalid+"ComparisonOperator NOT_CONTAINS is not valid for L AttributeValue type")
	f(cond("CONTAINS", `[{"M":{}}]`), "", invalid+"ComparisonOperator CONTAINS is not valid for M AttributeValue type")
	f(cond("BETWEEN", `[{"N":"2"},{"N":"1"}]`), "", "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")

	// Values are checked first, then their number, then their types.
	f(cond("EQ", `[{"N":"1"},{"N":"x"}]`), "", "The parameter cannot be converted to a numeric value: x")
	f(cond("EQ", `[{}]`), "", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	f(cond("EQ", `[{"SS":[]}]`), "", invalid+"An string set  may not be empty")
	f(cond("LT", `[{"SS":["a"]},{"S":"a"}]`), "", invalid+"Invalid number of argument(s) for the LT ComparisonOperator")
	f(cond("BETWEEN", `[{"SS":["a"]},{"S":"a"}]`), "", invalid+"ComparisonOperator BETWEEN is not valid for SS AttributeValue type")

	f(`{}`, "AND", "ConditionalOperator cannot be used without Filter or Expected")
	f(cond("NULL", `[]`), "OR", "ConditionalOperator can only be used when Filter or Expected has two or more elements")
	f(cond("EQ", `[]`), "OR", invalid+"Invalid number of argument(s) for the EQ ComparisonOperator")
	f(`{"":{"ComparisonOperator":"NULL"}}`, "", "Empty attribute name")
	f(`{"`+strings.Repeat("x", 65536)+`":{"ComparisonOperator":"NULL"}}`, "", "Attribute name is too large, must be less than 65536 bytes")
	f(`{"a":{"ComparisonOperator":"NULL"},"\u0061":{"ComparisonOperator":"NULL"}}`, "", "An attribute is named twice: a")
	f(`{"a":[]}`, "", "Not a condition: a")
	f(`[]`, "", "Not a map of attributes")
	f(cond("EQ", `{}`), "", "AttributeValueList is not a list")
	if _, err := LegacyFilter(nil, "OR"); message(err) != "ConditionalOperator cannot be used without Filter or Expected" {
		t.Error(err)
	}
}

func TestLegacyExpected(t *testing.T) {
	f := func(obj, operator, want string) {
		t.Helper()
		c, err := LegacyExpected([]byte(obj), operator)
		got := ""
		if c != nil {
			got = c.String()
		}
		if err != nil || got != want {
			t.Errorf("%s %s: got %s, %v; want %s", obj, operator, got, err, want)
		}
	}
	f(`{"a":{"Value":{"N":"1.0"}}}`, "", `(= [a] {"N":"1"})`)
	f(`{"a":{"Exists":true,"Value":{"S":"x"}}}`, "", `(= [a] {"S":"x"})`)
	f(`{"a":{"Exists":"yes","Value":{"S":"x"}}}`, "", `(= [a] {"S":"x"})`)
	f(`{"a":{"Exists":false}}`, "", `(attribute_not_exists [a])`)
	f(`{"a":{"Exists":"NO"}}`, "", `(attribute_not_exists [a])`)
	f(`{"a":{"Exists":null,"Value":{"S":"x"}}}`, "", `(= [a] {"S":"x"})`)
	f(`{"a":{"ComparisonOperator":"EQ","Value":{"S":"x"}}}`, "", `(= [a] {"S":"x"})`)
	f(`{"a":{"ComparisonOperator":"IN","Value":{"S":"x"}}}`, "", `(in [a] {"S":"x"})`)
	f(`{"a":{"ComparisonOperator":"NULL"}}`, "", `(attribute_not_exists [a])`)
	f(`{"a":{"ComparisonOperator":"NOT_NULL","AttributeValueList":[]}}`, "", `(attribute_exists [a])`)
	f(`{"a":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"1"}]}}`, "", `(between [a] {"N":"1"} {"N":"1"})`)
	f(`{"a":{"Exists":false},"b":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"1"}]}}`, "", `(and (attribute_not_exists [a]) (> [b] {"N":"1"}))`)
	f(`{"a":{"Exists":false},"b":{"Value":{"N":"1"}}}`, "OR", `(or (attribute_not_exists [a]) (= [b] {"N":"1"}))`)
	f(`{}`, "", "")
}

func TestLegacyExpectedErrors(t *testing.T) {
	f := func(expected, want string) {
		t.Helper()
		if _, err := LegacyExpected([]byte(`{"a":`+expected+`}`), ""); message(err) != want {
			t.Errorf("%s: got %v; want %s", expected, err, want)
		}
	}
	const invalid = "One or more parameter values were invalid: "
	f(`{}`, invalid+"Value must be provided when Exists is null for Attribute: a")
	f(`{"Exists":true}`, invalid+"Value must be provided when Exists is true for Attribute: a")
	f(`{"Exists":false,"Value":{"S":"x"}}`, invalid+"Value cannot be used when Exists is false for Attribute: a")
	f(`{"Value":{"S":"x"},"AttributeValueList":[{"S":"x"}]}`, invalid+"Value and AttributeValueList cannot be used together for Attribute: a")
	f(`{"Value":{"S":"x"},"AttributeValueList":[{"S":"x"}],"ComparisonOperator":"EQ","Exists":true}`, invalid+"Value and AttributeValueList cannot be used together for Attribute: a")
	f(`{"Exists":true,"ComparisonOperator":"EQ"}`, invalid+"Exists and ComparisonOperator cannot be used together for Attribute: a")
	f(`{"Exists":false,"ComparisonOperator":"NULL"}`, invalid+"Exists and ComparisonOperator cannot be used together for Attribute: a")
	f(`{"AttributeValueList":[{"S":"x"}]}`, invalid+"AttributeValueList can only be used with a ComparisonOperator for Attribute: a")
	f(`{"AttributeValueList":[{"S":"x"}],"Exists":true}`, invalid+"AttributeValueList can only be used with a ComparisonOperator for Attribute: a")
	f(`{"ComparisonOperator":"LT"}`, invalid+"Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a")
	f(`{"ComparisonOperator":"EQ","AttributeValueList":[]}`, invalid+"Invalid number of argument(s) for the EQ ComparisonOperator")
	f(`{"ComparisonOperator":"NULL","Value":{"S":"x"}}`, invalid+"Invalid number of argument(s) for the NULL ComparisonOperator")
	f(`{"ComparisonOperator":"BETWEEN","Value":{"S":"x"}}`, invalid+"Invalid number of argument(s) for the BETWEEN ComparisonOperator")
	f(`{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"S":"b"},{"S":"a"}]}`, "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
	f(`{"ComparisonOperator":"LT","Value":{"SS":["x"]}}`, invalid+"ComparisonOperator LT is not valid for SS AttributeValue type")
	f(`{"ComparisonOperator":"IN","AttributeValueList":[{"S":"x"},{"N":"1"}]}`, invalid+"AttributeValues inside AttributeValueList must be of same type")
	f(`{"Value":{"N":"x"}}`, "The parameter cannot be converted to a numeric value: x")
	f(`{"ComparisonOperator":"EQ","Value":{}}`, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	f(`{"ComparisonOperator":"EQ","AttributeValueList":[{"NULL":false}]}`, invalid+"Null attribute value types must have the value of true")
	f(`"x"`, "Not a condition: a")
	if _, err := LegacyExpected(nil, "AND"); message(err) != "ConditionalOperator cannot be used without Filter or Expected" {
		t.Error(err)
	}
	if _, err := LegacyExpected([]byte(`{"a":{"Exists":false}}`), "AND"); message(err) != "ConditionalOperator can only be used when Filter or Expected has two or more elements" {
		t.Error(err)
	}
}

func TestLegacyKeyQuery(t *testing.T) {
	f := func(obj string, s *KeySchema, want string) {
		t.Helper()
		q, err := LegacyKeyQuery([]byte(obj), s.Index != "")
		got := message(err)
		if err == nil {
			r, err := q.Against(s)
			if got = message(err); err == nil {
				got = r.text()
			}
		}
		if got != want {
			t.Errorf("%s: got %s; want %s", obj, got, want)
		}
	}
	const p = `"p":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}`
	c := func(operator, list string) string {
		return `{` + p + `,"c":{"ComparisonOperator":"` + operator + `","AttributeValueList":` + list + `}}`
	}
	f(`{`+p+`}`, hashRange, `= {"S":"x"}`)
	f(c("EQ", `[{"N":"1"}]`), hashRange, `= {"S":"x"}; = {"N":"1"}`)
	f(c("LT", `[{"N":"1"}]`), hashRange, `= {"S":"x"}; < {"N":"1"}`)
	f(c("BETWEEN", `[{"N":"1"},{"N":"2"}]`), hashRange, `= {"S":"x"}; between {"N":"1"} {"N":"2"}`)
	const (
		indexable = "Attempted conditional constraint is not an indexable operation"
		invalid   = "One or more parameter values were invalid: "
	)
	for _, operator := range []string{"NE", "IN", "CONTAINS", "NOT_CONTAINS"} {
		f(c(operator, `[{"N":"1"}]`), hashRange, indexable)
		f(`{"p":{"ComparisonOperator":"`+operator+`","AttributeValueList":[{"N":"1"}]}}`, hashOnly, indexable)
	}
	f(c("NULL", `[]`), hashRange, indexable)
	f(c("NOT_NULL", `[]`), hashRange, indexable)
	f(`{"p":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"x"}]}}`, hashOnly, "Query key condition not supported")
	f(c("BEGINS_WITH", `[{"N":"1"}]`), hashRange, invalid+"ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type")
	f(c("EQ", `[]`), hashRange, invalid+"Invalid number of argument(s) for the EQ ComparisonOperator")
	f(c("BETWEEN", `[{"N":"2"},{"N":"1"}]`), hashRange, "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
	f(c("EQ", `[{"S":"1"}]`), hashRange, invalid+"Condition parameter type does not match schema type")
	f(c("EQ", `[{"SS":["1"]}]`), hashRange, invalid+"Condition parameter type does not match schema type")
	f(`{"z":{"ComparisonOperator":"NULL"}}`, hashRange, "Query condition missed key schema element: p")
	f(`{}`, hashRange, "Conditions can be of length 1 or 2 only")
	f(`{`+p+`,"c":{"ComparisonOperator":"NULL"},"d":{"ComparisonOperator":"NULL"}}`, hashRange, "Conditions can be of length 1 or 2 only")
}

func TestLegacyAttributes(t *testing.T) {
	f := func(list, want string) {
		t.Helper()
		paths, err := LegacyAttributes([]byte(list))
		got := message(err)
		for _, p := range paths {
			got += p.String()
		}
		if got != want {
			t.Errorf("%.40s: got %s; want %s", list, got, want)
		}
	}
	f(`["a","x.y","b[1]","\u0063"]`, "[a][x.y][b[1]][c]")
	f(`["a","b","b","a"]`, "One or more parameter values were invalid: Duplicate value in attribute name: b")
	f(`["a","\u0061"]`, "One or more parameter values were invalid: Duplicate value in attribute name: a")
	f(`["a",""]`, "Empty attribute name")
	f(`["`+strings.Repeat("x", 65536)+`"]`, "Attribute name is too large, must be less than 65536 bytes")
	f(`{}`, "AttributesToGet is not a list")
}

// TestLegacyApply applies AttributeUpdates like an update expression.
func TestLegacyApply(t *testing.T) {
	f := func(obj, attribute, want string) {
		t.Helper()
		u, err := LegacyUpdates([]byte(obj))
		if err != nil {
			t.Fatalf("%s: %v", obj, err)
		}
		if want != "" && want[0] == '{' {
			want = `{"` + attribute + `":` + want + `}`
		} else if want == "" {
			want = "{}"
		}
		if got := parts(t, apply(t, u, old), attribute); got != want {
			t.Errorf("%s: got %s; want %s", obj, got, want)
		}
	}
	f(`{"a":{"Value":{"S":"x"}}}`, "a", `{"S":"x"}`)
	f(`{"n":{"Action":"PUT","Value":{"S":"x"}}}`, "n", `{"S":"x"}`)
	f(`{"x.y":{"Value":{"S":"x"}}}`, "x.y", `{"S":"x"}`)
	f(`{"n":{"Action":"DELETE"}}`, "n", "")
	f(`{"n":{"Action":"ADD","Value":{"N":"-3"}}}`, "n", `{"N":"7"}`)
	f(`{"a":{"Action":"ADD","Value":{"N":"-3"}}}`, "a", `{"N":"-3"}`)
	f(`{"ss":{"Action":"ADD","Value":{"SS":["b","c"]}}}`, "ss", `{"SS":["a","b","c"]}`)
	f(`{"ss":{"Action":"DELETE","Value":{"SS":["b","c"]}}}`, "ss", `{"SS":["a"]}`)
	f(`{"ss":{"Action":"DELETE","Value":{"SS":["b","a"]}}}`, "ss", "")
	f(`{"l":{"Action":"ADD","Value":{"L":[{"S":"x"}]}}}`, "l", `{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"S":"x"}]}`)
	f(`{"a":{"Action":"ADD","Value":{"L":[{"S":"x"}]}}}`, "a", `{"L":[{"S":"x"}]}`)
	const mismatch = "Type mismatch for attribute to update"
	f(`{"s":{"Action":"ADD","Value":{"N":"1"}}}`, "s", mismatch)
	f(`{"n":{"Action":"ADD","Value":{"SS":["a"]}}}`, "n", mismatch)
	f(`{"ss":{"Action":"ADD","Value":{"L":[]}}}`, "ss", mismatch)
	f(`{"ss":{"Action":"DELETE","Value":{"NS":["1"]}}}`, "ss", mismatch)
	f(`{"n":{"Action":"DELETE","Value":{"NS":["10"]}}}`, "n", mismatch)

	none := func(obj, want string) {
		t.Helper()
		u, err := LegacyUpdates([]byte(obj))
		if err != nil {
			t.Fatal(err)
		}
		if got := apply(t, u, ""); got != want {
			t.Errorf("%s: got %s; want %s", obj, got, want)
		}
	}
	none(`{}`, theKey)
	none(`{"a":{"Action":"DELETE"}}`, "nothing")
	none(`{"a":{"Action":"DELETE","Value":{"SS":["x"]}}}`, "nothing")
	none(`{"a":{"Action":"ADD","Value":{"SS":["x"]}},"b":{"Action":"DELETE"}}`, `{"id":{"S":"k"},"a":{"SS":["x"]}}`)
}

func FuzzLegacy(f *testing.F) {
	for _, operator := range []string{"EQ", "BETWEEN", "NOT_CONTAINS", "NULL"} {
		f.Add(cond(operator, `[{"N":"1"},{"S":"x"}]`))
		f.Add(cond(operator, `[{"N":"1"}]`))
		f.Add(cond(operator, `[]`))
	}
	f.Add(`{"a":{"Value":{"N":"1"}},"b":{"Exists":false}}`)
	f.Add(`{"ss":{"Action":"DELETE","Value":{"SS":["a"]}},"l":{"Action":"ADD","Value":{"L":[{"S":"x"}]}}}`)
	f.Add(`["a","b"]`)
	it, key := item(f, old), item(f, theKey)
	f.Fuzz(func(t *testing.T, text string) {
		for _, operator := range []string{"", "AND", "OR"} {
			if c, err := LegacyExpected([]byte(text), operator); err == nil && c != nil {
				c.Match(it)
				c.Match(nil)
			}
			if c, err := LegacyFilter([]byte(text), operator); err == nil && c != nil {
				c.Match(it)
			}
		}
		if u, err := LegacyUpdates([]byte(text)); err == nil {
			if after, err := u.Apply(nil, key); err == nil && after == nil && !u.onlyRemoves() {
				t.Fatalf("%s creates no item", text)
			}
			u.Apply(it, nil)
		}
		if q, err := LegacyKeyQuery([]byte(text), true); err == nil {
			q.Against(hashRange)
			q.Against(manyIndex)
		}
		if paths, err := LegacyAttributes([]byte(text)); err == nil {
			NewSelection(paths).Of(it)
		}
	})
}
