package expr

import (
	"fmt"
	"strings"
	"testing"
)

var keyOpNames = [...]string{KeyEqual: "=", KeyLess: "<", KeyLessEqual: "<=", KeyGreater: ">", KeyGreaterEqual: ">=",
	KeyBetween: "between", KeyBeginsWith: "begins_with"}

func (kc *KeyCondition) text() string {
	var s []string
	for _, t := range kc.Terms {
		s = append(s, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", t.Name, keyOpNames[t.Op], t.A, t.B)))
	}
	return strings.Join(s, "; ")
}

// text returns the same for both forms of a key condition with normalized values.
func (q *KeyQuery) text() string {
	var s []string
	for _, t := range q.terms {
		var b []byte
		if t.b != nil {
			b = t.b.Append(nil)
		}
		s = append(s, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", t.name, keyOpNames[t.op], t.a.Append(nil), b)))
	}
	return strings.Join(s, "; ")
}

func parseKeyQuery(text string, n *Names, v *Values) (*KeyQuery, error) {
	c, err := ParseCondition("KeyCondition", []byte(text), n, v)
	if err != nil {
		return nil, err
	}
	return c.KeyQuery()
}

func TestParseKeyCondition(t *testing.T) {
	var kc KeyCondition
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		if ok := ParseKeyCondition([]byte(text), n, v, &kc); !ok || kc.text() != want {
			t.Errorf("%s: got %s, %v; want %s", text, kc.text(), ok, want)
		}
		if slow, err := parseKeyQuery(text, n, v); err != nil || slow.text() != want {
			t.Errorf("%s: the tree leads to %v, %v", text, slow, err)
		}
	}
	const s, n5 = `{"S":"abc"}`, `{"N":"5"}`
	f("pk = :s", "pk = "+s)
	f(":s = pk", "pk = "+s)
	f("(pk = :s)", "pk = "+s)
	f("#dot = :s and sk < :n", "x.y = "+s+"; sk < "+n5)
	f("pk = :s AND :n <= sk", "pk = "+s+"; sk >= "+n5)
	f("pk = :s AND :n > sk", "pk = "+s+"; sk < "+n5)
	f("sk BETWEEN :m AND :n AND pk = :s", `sk between {"N":"1"} `+n5+"; pk = "+s)
	f("pk = :s AND sk BETWEEN :s AND :s", "pk = "+s+"; sk between "+s+" "+s)
	f("(pk = :s) AND (begins_with(sk, :b))", "pk = "+s+`; sk begins_with {"B":"AAE="}`)
	f("((pk = :s) AND sk >= :n)", "pk = "+s+"; sk >= "+n5)
	f("a = :s AND b = :s AND (c = :s AND d > :n)", "a = "+s+"; b = "+s+"; c = "+s+"; d > "+n5)
}

func TestParseKeyConditionRefuses(t *testing.T) {
	var kc KeyCondition
	n, v := names(t, someNames), values(t, someValues)
	for _, text := range []string{"", "pk", "pk =", "pk = pk", "pk = :zz", "#zz = :s", "name = :s", "pk > :n", "begins_with(pk, :s)",
		"pk <> :s", "NOT pk = :s", "pk = :s OR sk = :s", "pk IN (:s)", "pk.a = :s", "pk[0] = :s", "attribute_exists(pk)", "size(pk) = :n",
		"pk = :s AND contains(sk, :s)", "pk = :s AND pk = :s", "pk = :s AND #a = :s AND a > :s", "((pk = :s))", "pk = :s AND ((sk = :s))", "pk = :true", "pk = :ss",
		"pk = :s AND begins_with(sk, :n)", "pk = :s AND begins_with(:s, sk)", "pk = :s AND sk BETWEEN :n AND :m", "pk = :s AND sk BETWEEN :n AND :s",
		"pk = :s AND", "pk = :s sk = :s", "(pk = :s", "pk = :s)", "pk = :s AND sk > :n AND", "(pk) = :s", "pk = :s AND sk BETWEEN :m, :n",
		"a=:s AND b=:s AND c=:s AND d=:s AND e=:s AND f=:s AND g=:s AND h=:s AND i=:s", strings.Repeat("(", 20) + "pk = :s" + strings.Repeat(")", 20),
		"pk = :s" + strings.Repeat(" ", 4096)} {
		if ParseKeyCondition([]byte(text), n, v, &kc) {
			t.Errorf("%s was accepted as %s", text, kc.text())
		}
	}
}

func TestKeyConditionErrors(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		_, err := parseKeyQuery(text, n, v)
		if got := message(err); got != "Invalid KeyConditionExpression: "+want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	f("a = :s OR b = :s", "Invalid operator used in KeyConditionExpression: OR")
	f("a = :s AND NOT b = :s", "Invalid operator used in KeyConditionExpression: NOT")
	f("a IN (:s)", "Invalid operator used in KeyConditionExpression: IN")
	f("a <> :s", "Invalid operator used in KeyConditionExpression: <>")
	f("contains(a, :s)", "Invalid operator used in KeyConditionExpression: contains")
	f("attribute_exists(a)", "Invalid operator used in KeyConditionExpression: attribute_exists")
	f("size(a) = :n", "KeyConditionExpressions cannot contain nested operations")
	f("a = :s AND a > :s", "KeyConditionExpressions must only contain one condition per key")
	f("a.b = :s", "KeyConditionExpressions cannot have conditions on nested attributes")
	f("a = b", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
	f(":s = :s", "Invalid condition in KeyConditionExpression: No key attribute specified")
	f("a=:s AND b=:s AND c=:s AND d=:s AND e=:s AND f=:s AND g=:s AND h=:s AND i=:s", "Conditions can be of length 1 or 2 only")
}

func TestLegacyKeyConditions(t *testing.T) {
	var kc KeyCondition
	f := func(text, want string) {
		t.Helper()
		if ok := LegacyKeyConditions([]byte(text), &kc); ok != (want != "") || ok && kc.text() != want {
			t.Errorf("%s: got %s, %v; want %s", text, kc.text(), ok, want)
		}
	}
	const pk = `"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}`
	f(`{`+pk+`}`, `pk = {"S":"x"}`)
	f(`{"\u0070k":{"AttributeValueList":[{"S":"x"}],"ComparisonOperator":"EQ"}}`, `pk = {"S":"x"}`)
	f(`{"sk":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]},`+pk+`}`, `sk between {"N":"1"} {"N":"2"}; pk = {"S":"x"}`)
	f(`{`+pk+`,"sk":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"y"}]}}`, `pk = {"S":"x"}; sk begins_with {"S":"y"}`)
	f(`{`+pk+`,"sk":{"ComparisonOperator":"GE","AttributeValueList":[{"B":"AA=="}]}}`, `pk = {"S":"x"}; sk >= {"B":"AA=="}`)
	for _, text := range []string{`{}`, `[]`, `{` + pk + `,` + pk + `}`, `{` + pk + `,"p\u006b":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}`,
		`{"sk":{"ComparisonOperator":"GE","AttributeValueList":[{"N":"1"}]}}`,
		`{"pk":{"ComparisonOperator":"NE","AttributeValueList":[{"S":"x"}]}}`, `{"pk":{"ComparisonOperator":"eq","AttributeValueList":[{"S":"x"}]}}`,
		`{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[]}}`, `{"pk":{"ComparisonOperator":"EQ"}}`, `{"pk":{"AttributeValueList":[{"S":"x"}]}}`,
		`{"pk":{"ComparisonOperator":"EQ","ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}`,
		`{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"},{"S":"y"}]}}`, `{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"BOOL":true}]}}`,
		`{` + pk + `,"sk":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"2"},{"N":"1"}]}}`,
		`{` + pk + `,"sk":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"2"}]}}`,
		`{` + pk + `,"":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}`, `{"pk":"x"}`, `{` + pk} {
		f(text, "")
	}
}
