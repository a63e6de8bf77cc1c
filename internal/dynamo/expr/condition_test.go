package expr

import (
	"strings"
	"testing"
)

// expressions are valid conditions with their parsed forms for TestParseCondition; they seed
// the fuzz targets too.
var expressions = []string{"a = :s", "a < :n AND b > :m OR NOT c <= :n", "attribute_exists(a.b[1])", "a BETWEEN :m AND :n AND b = :s",
	"a IN (:s, :t, :n)", "(a = :s)", "((a = :s) AND b = :t)", "size(a) > :n", "NOT contains(a, :s)", "begins_with(#dot, :b)", "(a) = (:s)",
	"attribute_type(a, :type)", "a = b", "NOT NOT a = :s", "a = :s OR b = :s AND c = :s", "(a)", "((a = :s))", "a = a", "name = :s", "a", "size(a)"}

func TestParseCondition(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		c, err := ParseCondition("Condition", []byte(text), n, v)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := c.String(); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const s, m = `{"S":"abc"}`, `{"N":"1"}`
	f("a = :s", `(= [a] `+s+`)`)
	f("#dot.b[2].#a<>:m", `(<> [x.y, b, [2], a] `+m+`)`)
	f("a=:m or b=:m and c=:m", `(or (= [a] `+m+`) (and (= [b] `+m+`) (= [c] `+m+`)))`)
	f("a=:m AND b=:m AND c=:m", `(and (= [a] `+m+`) (= [b] `+m+`) (= [c] `+m+`))`)
	f("(a=:m or b=:m) and c=:m", `(and (or (= [a] `+m+`) (= [b] `+m+`)) (= [c] `+m+`))`)
	f("NOT a=:m AND b=:m", `(and (not (= [a] `+m+`)) (= [b] `+m+`))`)
	f("NOT NOT a=:m", `(not (not (= [a] `+m+`)))`)
	f("NOT (a=:m AND b=:m)", `(not (and (= [a] `+m+`) (= [b] `+m+`)))`)
	f("a BETWEEN :m AND :n AND b=:m", `(and (between [a] `+m+` {"N":"5"}) (= [b] `+m+`))`)
	f("a IN (:m)", `(in [a] `+m+`)`)
	f("a in (b, :s, size(c))", `(in [a] [b] `+s+` (size [c]))`)
	f("attribute_exists(a)", `(attribute_exists [a])`)
	f("(attribute_not_exists(a))", `(attribute_not_exists [a])`)
	f("attribute_type(a, :type)", `(attribute_type [a] {"S":"SS"})`)
	f("begins_with(a, :s) OR contains(:s, a)", `(or (begins_with [a] `+s+`) (contains `+s+` [a]))`)
	f("size(a) >= size(b)", `(>= (size [a]) (size [b]))`)
	f("size (:l) = a", `(= (size {"L":[]}) [a])`)
	f("#size = :s", `(= [size] `+s+`)`)
	f("(a) = (:s)", `(= [a] `+s+`)`)
	f("contains((a), (:s))", `(contains [a] `+s+`)`)
	f("((a = :s) AND b = :s)", `(and (= [a] `+s+`) (= [b] `+s+`))`)
	f("(a = :s) AND (b = :s)", `(and (= [a] `+s+`) (= [b] `+s+`))`)
	f(":s = a", `(= `+s+` [a])`)
	f(":s = :s", `(= `+s+` `+s+`)`)
	f("a = :true AND b <> :null AND c = :map", `(and (= [a] {"BOOL":true}) (<> [b] {"NULL":true}) (= [c] {"M":{}}))`)
	f("a BETWEEN :s AND :t OR b BETWEEN :b AND :c OR c BETWEEN d AND :n",
		`(or (between [a] `+s+` {"S":"abd"}) (between [b] {"B":"AAE="} {"B":"AAI="}) (between [c] [d] {"N":"5"}))`)
}

func TestConditionPaths(t *testing.T) {
	c, err := ParseCondition("Filter", []byte("a = :s AND (size(b.c) > :n OR NOT d IN (e[1], :n))"), nil, values(t, someValues))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Paths() {
		got = append(got, p.String())
	}
	if s := strings.Join(got, " "); s != "[a] [b, c] [d] [e, [1]]" {
		t.Errorf("got %s", s)
	}
}

func TestConditionErrors(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		_, err := ParseCondition("Condition", []byte(text), n, v)
		if got := message(err); got != "Invalid ConditionExpression: "+want {
			t.Errorf("%.80s: got %s; want %s", text, got, want)
		}
	}
	f(strings.Repeat("a", 4097), "Expression size has exceeded the maximum allowed size; expression size: 4097")
	f("", "The expression can not be empty;")
	f(" \t\n", "The expression can not be empty;")

	syntax := func(text, token, near string) {
		t.Helper()
		f(text, `Syntax error; token: "`+token+`", near: "`+near+`"`)
	}
	syntax("a", "<EOF>", "a")
	syntax("a =", "<EOF>", "=")
	syntax("a = = :s", "=", "= = :s")
	syntax("a == :s", "=", "== :s")
	syntax("a = :s b = :s", "b", ":s b =")
	syntax("a AND b = :s", "AND", "a AND b")
	syntax("(a = :s", "<EOF>", ":s")
	syntax("a = :s)", ")", ":s)")
	syntax("a = (:s = :t)", "=", ":s = :t")
	syntax("my-attr = :s", "-", "my-attr")
	syntax("_a = :s", "_", "_a")
	syntax("1a = :s", "1", "1a")
	syntax("a[:n] = :s", ":n", "[:n]")
	syntax("a[#i] = :s", "#i", "[#i]")
	syntax("a[-1] = :s", "-", "[-1")
	syntax("a[01] = :s", "1", "01]")
	syntax("a[1.2] = :s", ".", "1.2")
	syntax(" a b ", "b", "a b ")
	syntax("a =  ", "<EOF>", "=  ")
	syntax("a = :s b c", "b", ":s b c")
	syntax("NOT (a)", "<EOF>", ")")
	syntax("a NOT IN (:s)", "NOT", "a NOT IN")
	syntax("(a.b).c = :s", ".", ").c")
	syntax("size(a).b = :s", ".", ").b")
	syntax("a = ((:s", "<EOF>", ":s")
	syntax("a. = :s", "=", ". = :s")
	syntax("a BETWEEN :m OR :n", "OR", ":m OR :n")
	syntax("a IN :m", ":m", "IN :m")
	syntax("a IN ()", ")", "()")
	syntax("size()", ")", "()")
	syntax("size(a + b) = :n", "+", "a + b")
	syntax("AND = :n", "AND", "AND =")
	syntax("a.set = :s", "set", ".set =")
	syntax("Remove = :s", "Remove", "Remove =")
	syntax("a = :s AND", "<EOF>", "AND")
	syntax("NOT", "<EOF>", "NOT")
	syntax("a = : s", ":", "= : s")
	syntax("a = é", "é", "= é")
	syntax("(a = :s) = :t", "=", ") = :t")

	f("((a = :s))", "The expression has redundant parentheses;")
	f("((a)) = :s", "The expression has redundant parentheses;")
	f("a = ((:s))", "The expression has redundant parentheses;")
	f("foo(a)", "Invalid function name; function: foo")
	f("Size(a) = :n", "Invalid function name; function: Size")
	f("if_not_exists(a, :n) = :n", "The function is not allowed in a condition expression; function: if_not_exists")
	f("a = list_append(a, :l)", "The function is not allowed in a condition expression; function: list_append")
	f("size(a)", "The function is not allowed to be used this way in an expression; function: size")
	f("a = :s AND NOT size(a)", "The function is not allowed to be used this way in an expression; function: size")
	f("attribute_exists(a) = :true", "The function is not allowed to be used this way in an expression; function: attribute_exists")
	f("a = contains(b, :s)", "The function is not allowed to be used this way in an expression; function: contains")
	f("size(begins_with(a, :s)) = :n", "The function is not allowed to be used this way in an expression; function: begins_with")
	f("Name = :s", "Attribute name is a reserved keyword; reserved keyword: Name")
	f("a.sets = :s AND b.desc = :s", "Attribute name is a reserved keyword; reserved keyword: sets")
	f("#x = :s", "An expression attribute name used in the document path is not defined; attribute name: #x")
	f("a = :x", "An expression attribute value used in expression is not defined; attribute value: :x")
	f("attribute_exists(a, b)", "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2")
	f("begins_with(a)", "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1")
	f("size(a, b) = :n", "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2")
	f("attribute_exists(:s)", "Operator or function requires a document path; operator or function: attribute_exists")
	f("begins_with(a, :n)", "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
	f("size(:n) = :n", "Incorrect operand type for operator or function; operator or function: size, operand type: N")
	f("size(:true) = :n", "Incorrect operand type for operator or function; operator or function: size, operand type: BOOL")
	f("a < :true", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL")
	f(":ss >= a", "Incorrect operand type for operator or function; operator or function: >=, operand type: SS")
	f("a BETWEEN :null AND :null", "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: NULL")
	f("attribute_type(a, b)", "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	f("attribute_type(a, :n)", "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N")
	f("attribute_type(a, :s)", "Invalid attribute type name found; type: abc, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}")
	f("a = a", "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]")
	f("begins_with(a, a)", "The first operand must be distinct from the remaining operands for this operator or function; operator: begins_with, first operand: [a]")
	f("a BETWEEN :n AND a", "The first operand must be distinct from the remaining operands for this operator or function; operator: BETWEEN, first operand: [a]")
	f("a IN (b, a)", "The first operand must be distinct from the remaining operands for this operator or function; operator: IN, first operand: [a]")
	f("attribute_type(a, size(b))", "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N")
	f("contains(a.b[1], #a.b[1])", "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a, b, [1]]")
	f("a BETWEEN :n AND :m", "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:1}")
	f("a BETWEEN :t AND :s", "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:abd}, upper bound operand: AttributeValue: {S:abc}")
	f("a BETWEEN :n AND :s", "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {S:abc}")
	f("a[2147483648] = :s", "List index is not within the allowable range; index: [2147483648]")
	f("a"+strings.Repeat(".b", 32)+" = :s", "The document path has too many nesting levels; nesting levels: 33")
	f("a = :s"+strings.Repeat(" OR a = :s", 200), "The expression contains too many operators; operator count: 301")
	f("a = :s"+strings.Repeat(" OR a = :s", 150), "The expression contains too many operators; operator count: 301")
	f("a IN (:s"+strings.Repeat(",:s", 100)+")", "The IN operator is provided with too many operands; number of operands: 101")
}

// TestConditionErrorOrder checks which of several errors is reported.
func TestConditionErrorOrder(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		_, err := ParseCondition("Filter", []byte(text), n, v)
		if got := message(err); !strings.HasPrefix(got, "Invalid FilterExpression: "+want) {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	f("a < :true AND b c AND ((foo(name))) AND #x = :x", "Syntax error")
	f("a < :true AND ((foo(name))) AND #x = :x AND b c", "The expression has redundant")
	f("a < :true AND #x = ((:x", "Syntax error")
	f("a < :true AND foo(name) AND a[2147483648] = :x AND ((b = :s))", "The expression has redundant")
	// Of words the first in the text is reported.
	f("a < :true AND a[2147483648] = :s AND size(a) AND name = :x AND foo(#x)", "List index is not within")
	f("a < :true AND foo(#x) AND size(a) AND name = :x AND a[2147483648] = :s", "Invalid function name")
	f("a < :true AND size(a) AND name = :x AND foo(#x)", "The function is not allowed")
	f("a < :true AND name = :x AND #x = b AND size(a)", "Attribute name is a reserved")
	f("foo(name)", "Invalid function name")
	f("attribute_exists(name) = :s", "The function is not allowed")
	f("name = foo(a)", "Attribute name is a reserved")
	f("a < :true AND #x = :x AND name = :s", "Attribute name is a reserved")
	// The following checks are made for one comparison or function after the other.
	f("a < :true AND #x = :x", "Incorrect operand type")
	f("NOT (a = :s AND b = b) OR a = :x", "The first operand must be distinct")
	f("attribute_exists(:s) AND a = :x", "Operator or function requires a document path")
	f("a < :x AND #x = :s AND a = a", "An expression attribute value")
	f(":x < #x", "An expression attribute value")
	f("#x < :x", "An expression attribute name")
	f("size(a, b) < #x", "Incorrect number") // the inner one is checked first
	f("#x < size(a, b)", "An expression attribute name")
	f("a IN (a, size(:n))", "Incorrect operand type")
	f("((a))", "Syntax error")
	f("((a)) = b c", "The expression has redundant")
	f("#x = a"+strings.Repeat(".b", 32), "An expression attribute name")
	f("a"+strings.Repeat(".b", 32)+" = #x", "The document path has too many nesting levels")
	f("begins_with(a, a, :n)", "Incorrect number")
	f("begins_with(a, a) AND a < :true", "The first operand must be distinct")
	f("attribute_type(a, a)", "The first operand must be distinct")
	f("a BETWEEN a AND :true", "Incorrect operand type")
	f("a IN (a"+strings.Repeat(",:s", 100)+")", "The first operand must be distinct")
	f("attribute_exists(size(:n))", "Incorrect operand type for operator or function; operator or function: size")
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range expressions {
		f.Add(s)
	}
	it := item(f, matchItem)
	f.Fuzz(func(t *testing.T, text string) {
		n, v := names(t, someNames), values(t, someValues)
		c, err := ParseCondition("KeyCondition", []byte(text), n, v)
		if err == nil {
			c.Match(it)
			c.Match(nil)
			negation := Condition{Root: &Node{Kind: Not, Nodes: []*Node{c.Root}}}
			if negation.Match(it) == c.Match(it) {
				t.Fatalf("%q and its negation are both %v", text, c.Match(it))
			}
		}
		var kc KeyCondition
		quick := ParseKeyCondition([]byte(text), n, v, &kc)
		if err != nil && quick {
			t.Fatalf("ParseKeyCondition accepts %q, for which the complete parser returned %v", text, err)
		}
		slow, err := parseKeyQuery(text, n, v)
		if quick && err != nil {
			t.Fatalf("ParseKeyCondition accepts %q, for which the complete parser returned %v", text, err)
		}
		if quick && slow.text() != kc.text() {
			t.Fatalf("%q: got %s from the complete parser, %s from ParseKeyCondition", text, slow.text(), kc.text())
		}
	})
}
