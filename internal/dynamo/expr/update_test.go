package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

var clauseNames = [...]string{Set: "set", Remove: "remove", Add: "add", Delete: "delete"}

func (u *Update) text() string {
	var b strings.Builder
	for i, a := range u.Actions {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(clauseNames[a.Clause] + " " + a.Path.String())
		if a.Value != nil {
			b.WriteByte(' ')
			a.Value.write(&b)
		}
	}
	return b.String()
}

func TestParseUpdate(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		u, err := ParseUpdate([]byte(text), n, v)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := u.text(); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const n5, m1 = `{"N":"5"}`, `{"N":"1"}`
	f("SET a = :n", "set [a] "+n5)
	f("set #dot.b[1] = b, c=:n+:m", "set [x.y, b, [1]] [b]; set [c] (+ "+n5+" "+m1+")")
	f("SET a = a - :n REMOVE b, c[0] ADD d :ss, e :n DELETE f :ns",
		"set [a] (- [a] "+n5+`); remove [b]; remove [c, [0]]; add [d] {"SS":["a"]}; add [e] `+n5+`; delete [f] {"NS":["1"]}`)
	f("REMOVE a SET b = :n", "remove [a]; set [b] "+n5)
	f("SET a = if_not_exists(a, :n) + :m", "set [a] (+ (if_not_exists [a] "+n5+") "+m1+")")
	f("SET a = list_append(if_not_exists(a, :l), b)", `set [a] (list_append (if_not_exists [a] {"L":[]}) [b])`)
	f("SET a = (:n)", "set [a] "+n5)
	f("SET a = (b + :n)", "set [a] (+ [b] "+n5+")")
	f("SET a = (b) + (c)", "set [a] (+ [b] [c])")
	f("SET a = ((b) + c)", "set [a] (+ [b] [c])")
	f("SET a[1] = :n, a[0] = :n", "set [a, [1]] "+n5+"; set [a, [0]] "+n5)
	f("ADD a.b :n", "add [a, b] "+n5)
	f("SET a = :true", `set [a] {"BOOL":true}`)
}

func TestUpdateErrors(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		_, err := ParseUpdate([]byte(text), n, v)
		if got := message(err); got != "Invalid UpdateExpression: "+want {
			t.Errorf("%.80s: got %s; want %s", text, got, want)
		}
	}
	f(strings.Repeat("a", 5000), "Expression size has exceeded the maximum allowed size;")
	f("  ", "The expression can not be empty;")
	syntax := func(text, token, near string) {
		t.Helper()
		f(text, `Syntax error; token: "`+token+`", near: "`+near+`"`)
	}
	syntax("a = :n", "a", "a =")
	syntax("SET", "<EOF>", "SET")
	syntax("SET a", "<EOF>", "a")
	syntax("SET a = ", "<EOF>", "= ")
	syntax("SET a = :n b  ", "b", ":n b  ")
	syntax("SET a = :n,", "<EOF>", ",")
	syntax("SET a = :n b = :m", "b", ":n b =")
	syntax("SET a = :n + :m + :m", "+", ":m + :m")
	syntax("SET a = if_not_exists(a + b, :n)", "+", "a + b")
	syntax("SET a = list_append(a, (b + c))", "+", "b + c")
	syntax("SET :n = a", ":n", "SET :n =")
	syntax("REMOVE :n", ":n", "REMOVE :n")
	syntax("REMOVE a = :n", "=", "a = :n")
	syntax("ADD a b", "b", "a b")
	syntax("ADD a = :n", "=", "a = :n")
	syntax("DELETE a (:ss)", "(", "a (:ss")
	syntax("SET a = :n REMOVE", "<EOF>", "REMOVE")
	syntax("SET remove = :n", "remove", "SET remove =")
	syntax("SET a[x] = :n", "x", "[x]")

	syntax("SET a = (b.c).d", ".", ").d")
	syntax("SET a = ((:n)", "<EOF>", ")")
	f("SET a = ((b.c)).d", "The expression has redundant parentheses;")
	f("SET a = ((b) + ((:n))) c", "The expression has redundant parentheses;")
	f("SET a = ((b + :n))", "The expression has redundant parentheses;")
	f("SET a = if_not_exists(b, ((:n)))", "The expression has redundant parentheses;")
	f("SET a = ((:n))", "The expression has redundant parentheses;")
	f("SET name = :n", "Attribute name is a reserved keyword; reserved keyword: name")
	syntax("REMOVE a.and", "and", ".and")
	syntax("SET in = :n", "in", "SET in =")
	f("SET a = foo(b)", "Invalid function name; function: foo")
	f("SET a = size(b)", "The function is not allowed in an update expression; function: size")
	f("SET a = contains(b, :n)", "The function is not allowed in an update expression; function: contains")
	f("SET a = :n SET b = :n", `The "SET" section can only be used once in an update expression;`)
	f("remove a remove b", `The "REMOVE" section can only be used once in an update expression;`)
	f("SET #x = :n", "An expression attribute name used in the document path is not defined; attribute name: #x")
	f("SET a = :x", "An expression attribute value used in expression is not defined; attribute value: :x")
	const overlap = "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: "
	f("SET a = :n REMOVE a", overlap+"[a], path two: [a]")
	f("SET a = :n, #a.b[1] = :n", overlap+"[a], path two: [a, b, [1]]")
	f("SET a.b[1] = :n, a.b = :n", overlap+"[a, b, [1]], path two: [a, b]")
	f("SET a.b = :n, a[1] = :n", "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [1]]")
	f("ADD a :s", "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND")
	f("ADD a :map", "Incorrect operand type for operator or function; operator: ADD, operand type: MAP, typeSet: ALLOWED_FOR_ADD_OPERAND")
	f("DELETE a :n", "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND")
	f("DELETE a :true", "Incorrect operand type for operator or function; operator: DELETE, operand type: BOOLEAN, typeSet: ALLOWED_FOR_DELETE_OPERAND")
	f("SET a = b + :s", "Incorrect operand type for operator or function; operator or function: +, operand type: S")
	const misused = "The function is not allowed to be used this way in an expression; function: list_append"
	f("SET a = list_append(a, b) - :n", misused)
	f("SET a = :n + list_append(a, b)", misused)
	f("SET a = list_append(list_append(a, b), c)", misused)
	f("SET a = list_append(b, (list_append(a, :l)))", misused)
	f("SET a = if_not_exists(b, list_append(a, :l))", misused)
	f("SET a = if_not_exists(b.c, b.c)", "The first operand must be distinct from the remaining operands for this operator or function; operator: if_not_exists, first operand: [b, c]")
	f("SET a = list_append(a, :n)", "Incorrect operand type for operator or function; operator or function: list_append, operand type: N")
	f("SET a = if_not_exists(:n, :n)", "Operator or function requires a document path; operator or function: if_not_exists")
	f("SET a = if_not_exists(a)", "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1")
	f("SET a = list_append(a, b, c)", "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 3")
	f("REMOVE a[99999999999]", "List index is not within the allowable range; index: [99999999999]")
	f("REMOVE a"+strings.Repeat("[0]", 32), "The document path has too many nesting levels; nesting levels: 33")
}

func TestUpdateErrorOrder(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		_, err := ParseUpdate([]byte(text), n, v)
		if got := message(err); !strings.HasPrefix(got, "Invalid UpdateExpression: "+want) {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	f("SET a = foo(name), b = :x, #x = :n, a.b = list_append(:n, :n) SET c = :n)", "Syntax error")
	f("SET c = name, a = foo(b), d = :x, #x = :n, a.b = :n SET c = :n", "Attribute name is a reserved")
	f("SET a = foo(b), c = name, d = :x, #x = :n, a.b = :n SET c = :n", "Invalid function name")
	f("SET a = foo(b), d = list_append(list_append(b, c), d)", "Invalid function name")
	f("SET d = list_append(list_append(b, c), d) SET #x = :x", "The function is not allowed")
	f("SET a = :x, #x = :n, a.b = :n SET c = :n", `The "SET" section`)
	f("SET a = :x, #x = :n, a.b = :n", "An expression attribute name")
	f("SET a = :x, a.b = :n", "An expression attribute value")
	f("SET b.c = :n, b[0] = :n, a = b + :s, a.b = :n", "Two document paths overlap")
	f("SET b.c = :n, b[0] = :n, a = b + :s ADD d :s", "Two document paths conflict")
	f("SET a = b + :s, c = list_append(a) ADD d :s", "Incorrect operand type for operator or function; operator: ADD")
	f("SET a = b + :s, c = list_append(a)", "Incorrect operand type for operator or function; operator or function: +")
	f("SET c = list_append(a), a = b + :s", "Incorrect number")
	f("SET c = if_not_exists(a, a), a = b + :s", "The first operand must be distinct")
	f("REMOVE a[9999999999] SET a = foo(name)", "List index is not within")
}

func TestTargets(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		u, err := ParseUpdate([]byte(text), n, v)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range u.Targets() {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s:%s %s", x.Name, [...]string{SetTo: "set", Removed: "removed", Computed: "computed"}[x.Effect], x.Value)))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %s; want %s", text, s, want)
		}
	}
	f("SET a = :n, #dot = b, c = (:s) REMOVE d", `a:set {"N":"5"}; x.y:computed; c:set {"S":"abc"}; d:removed`)
	f("SET a.b = :n, a.c = :n REMOVE d[0]", "a:computed; d:computed")
	f("ADD a :n, b :ss DELETE c :ss", "a:computed; b:computed; c:computed")
	f("SET a = if_not_exists(a, :n), b = :n + :n", "a:computed; b:computed")
}

func TestProjectUpdated(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, item, want string) {
		t.Helper()
		u, err := ParseUpdate([]byte(text), n, v)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, ok := u.ProjectUpdated([]byte("<"), valid(t, []byte(item))); !ok || string(got) != "<"+want {
				t.Errorf("%s: got %s, %v; want %s", text, got, ok, want)
			}
		}
	}
	const item = `{"id":{"S":"x"},"a":{"M":{"c":{"L":[{"S":"0"},{"S":"1"}]},"d":{"N":"1"}}},"b":{"N":"2"}}`
	f("SET b = :n", item, `{"b":{"N":"2"}}`)
	f("SET a.c[1] = :n REMOVE b", item, `{"a":{"M":{"c":{"L":[{"S":"1"}]}}},"b":{"N":"2"}}`)
	f("SET a.c[100] = :n", item, `{}`)
	f("REMOVE zz", item, `{}`)
	f("SET a.d = :n, a.c[0] = :n", item, `{"a":{"M":{"c":{"L":[{"S":"0"}]},"d":{"N":"1"}}}}`)

	u, err := ParseUpdate([]byte("SET a.b = :n"), n, v)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := u.ProjectUpdated([]byte("<"), []byte(`{"a":1}`)); ok || string(got) != "<" {
		t.Errorf("without an item: got %s, %v", got, ok)
	}
}

func TestLegacyUpdates(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		u, err := LegacyUpdates([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := u.text(); got != want || !u.Legacy {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	f(`{}`, "")
	f(`{"a":{"Value":{"S":"x"}}}`, `set [a] {"S":"x"}`)
	f(`{"a.b":{"Action":"PUT","Value":{"S":"x"}},"\u0063":{"Action":"DELETE"}}`, `set [a.b] {"S":"x"}; remove [c]`)
	f(`{"a":{"Action":"DELETE","Value":{"SS":["x"]}},"b":{"Action":"ADD","Value":{"N":"1"}}}`, `delete [a] {"SS":["x"]}; add [b] {"N":"1"}`)
	f(`{"a":{"Action":"ADD","Value":{"L":[]}},"b":{"Action":"ADD","Value":{"BS":["AA=="]}}}`, `add [a] {"L":[]}; add [b] {"BS":["AA=="]}`)
}

func TestLegacyUpdateErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := LegacyUpdates([]byte(text)); message(err) != want {
			t.Errorf("%s: got %v; want %s", text, err, want)
		}
	}
	const invalid = "One or more parameter values were invalid: "
	f(`{"a":{}}`, invalid+"Only DELETE action is allowed when no attribute value is specified")
	f(`{"a":{"Action":"ADD"}}`, invalid+"Only DELETE action is allowed when no attribute value is specified")
	f(`{"a":{"Action":"ADD","Value":{"S":"x"}}}`, invalid+"ADD action is not supported for the type S")
	f(`{"a":{"Action":"ADD","Value":{"BOOL":true}}}`, invalid+"ADD action is not supported for the type BOOL")
	f(`{"a":{"Action":"DELETE","Value":{"N":"1"}}}`, invalid+"DELETE action with value is not supported for the type N")
	f(`{"a":{"Action":"DELETE","Value":{"S":"1"}}}`, invalid+"DELETE action with value is not supported for the type S")
	f(`{"a":{"Action":"put","Value":{"S":"x"}}}`, "1 validation error detected: Value 'put' at 'attributeUpdates.a.member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]")
	f(`{"a":{"Value":{}}}`, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	f(`{"":{"Value":{"S":"x"}}}`, "Empty attribute name")
	f(`{"a":{"Action":"DELETE"},"\u0061":{"Action":"DELETE"}}`, "An attribute is named twice: a")
	f(`{"a":[]}`, "Not an update: a")
	f(`[]`, "Not a map of attributes")
}

func FuzzParseUpdate(f *testing.F) {
	for _, s := range []string{"SET a = :n", "SET a = a + :n REMOVE b ADD c :n DELETE d :ss", "SET a = ((b) + c)", "REMOVE a.b[1], a.c", "SET a = list_append(if_not_exists(a, :l), :l)",
		"SET a = ((((", "SET a = (b + (c - d))"} {
		f.Add(s, []byte("\x03\x00\x01\x02\x03\x04"))
	}
	f.Fuzz(func(t *testing.T, text string, shape []byte) {
		u, err := ParseUpdate([]byte(text), names(t, someNames), values(t, someValues))
		if err != nil {
			return
		}
		if len(u.Actions) == 0 || len(u.Targets()) == 0 || len(u.Targets()) > len(u.Actions) {
			t.Fatalf("%q was parsed as %s", text, u.text())
		}
		out, ok := u.ProjectUpdated(nil, []byte(itemFrom(shape)))
		if !ok && len(u.Actions) < 50 {
			t.Fatalf("%q can't be projected", text)
		}
		if ok {
			valid(t, out)
		}
		it, err := value.ParseItem([]byte(itemFrom(shape)))
		if err != nil {
			t.Fatal(err)
		}
		shown := "{}"
		if v := u.Updated(&it); v != nil {
			shown = string(v.AppendItem(nil))
		}
		if text, ok := u.ProjectUpdated(nil, it.AppendItem(nil)); ok && string(text) != shown {
			t.Fatalf("%q: got %s from the tree, %s from text", text, shown, text)
		}
		if after, err := u.Apply(&it, nil); err == nil && after == nil {
			t.Fatalf("%q removes the item", text)
		}
	})
}
