package partiql

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// params returns values for the parameters of tests: 'x', 1, <<'a','b'>>.
func params(t testing.TB, list ...string) []value.Value {
	t.Helper()
	values := make([]value.Value, len(list))
	for i, text := range list {
		var err error
		if values[i], err = value.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// text returns a command in one line.
func (c *Command) text() string {
	var b strings.Builder
	b.WriteString(c.Kind.String() + " " + c.Table)
	if c.Index != "" {
		b.WriteString("." + c.Index)
	}
	for _, x := range c.Columns {
		b.WriteString(" " + x.Path.String() + " " + x.Name)
	}
	if c.Item.Type != 0 {
		b.WriteString(" " + string(c.Item.AppendItem(nil)))
	}
	if c.Update != nil {
		for _, a := range c.Update.Actions {
			b.WriteString(" " + [...]string{expr.Set: "set", expr.Remove: "remove", expr.Add: "add", expr.Delete: "delete"}[a.Clause] + " " + a.Path.String())
			if a.Value != nil { // write the operand as part of a condition
				n := expr.Node{Kind: expr.Compare, Op: expr.Equal, Args: []*expr.Operand{a.Value}}
				b.WriteString((&expr.Condition{Root: &n}).String())
			}
		}
	}
	if c.Where != nil {
		b.WriteString(" where " + c.Where.String())
	}
	for _, o := range c.Order {
		b.WriteString(" by " + o.Name)
		if o.Descending {
			b.WriteString(" desc")
		}
	}
	if c.Returning != ReturnNothing {
		b.WriteString(" " + c.Returning.String())
	}
	return b.String()
}

func TestTranslate(t *testing.T) {
	f := func(text, want string, values ...string) {
		t.Helper()
		c, err := Translate([]byte(text), params(t, values...), true)
		switch {
		case err != nil:
			t.Errorf("%s: %v", text, err)
		case c.OrderFault != nil || c.ReturningFault != nil:
			t.Errorf("%s: got %v, %v", text, c.OrderFault, c.ReturningFault)
		case c.text() != want:
			t.Errorf("%s: got\n%s, want\n%s", text, c.text(), want)
		}
	}
	f(`SELECT * FROM t`, `select t`)
	f(`SELECT * FROM "my.table"."my-index" WHERE "A" = 'x';`, `select my.table.my-index where (= [A] {"S":"x"})`)
	f(`SELECT * FROM t['i']`, `select t.i`)
	f(`SELECT a, b.c, d[0][1], "e f".g[2] FROM t`, `select t [a] a [b, c] c [d, [0], [1]] d[0][1] [e f, g, [2]] g[2]`)
	f(`SELECT a['b'] FROM t`, `select t [a, b] b`)
	f(`SELECT a FROM t ORDER BY b DESC, c ASC, d`, `select t [a] a by b desc by c by d`)
	f(`SELECT * FROM t WHERE a = ? AND b <> ?`, `select t where (and (= [a] {"S":"x"}) (<> [b] {"N":"1"}))`, `{"S":"x"}`, `{"N":"1"}`)
	f(`SELECT * FROM t WHERE a = 1 AND b = 2 AND c = 3 OR d = 4`, `select t where (or (and (= [a] {"N":"1"}) (= [b] {"N":"2"}) (= [c] {"N":"3"})) (= [d] {"N":"4"}))`)
	f(`SELECT * FROM t WHERE NOT (a < 1 OR 'x' >= b)`, `select t where (not (or (< [a] {"N":"1"}) (>= {"S":"x"} [b])))`)
	f(`SELECT * FROM t WHERE a IN [1, 'x', null] AND b IN (c) OR d NOT IN <<1, e>>`,
		`select t where (or (and (in [a] {"N":"1"} {"S":"x"} {"NULL":true}) (in [b] [c])) (not (in [d] {"N":"1"} [e])))`)
	f(`SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 'x' AND c`, `select t where (and (between [a] {"N":"1"} {"N":"2"}) (not (between [b] {"S":"x"} [c])))`)
	f(`SELECT * FROM t WHERE a BETWEEN 1 AND 1`, `select t where (between [a] {"N":"1"} {"N":"1"})`)
	f(`SELECT * FROM t WHERE a IS MISSING OR b IS NOT MISSING OR c IS NULL OR 1 IS NUMERIC`,
		`select t where (or (attribute_not_exists [a]) (not (attribute_not_exists [b])) (attribute_type [c] {"S":"NULL"}) (attribute_type {"N":"1"} {"S":"N"}))`)
	f(`SELECT * FROM t WHERE a IS BOOLEAN AND a IS BLOB AND a IS STRING AND a IS STRUCT AND a IS TUPLE AND a IS LIST`, `select t where (and (attribute_type [a] {"S":"BOOL"}) `+
		`(attribute_type [a] {"S":"B"}) (attribute_type [a] {"S":"S"}) (attribute_type [a] {"S":"M"}) (attribute_type [a] {"S":"M"}) (attribute_type [a] {"S":"L"}))`)
	f(`SELECT * FROM t WHERE begins_with(a, 'x') AND CONTAINS("b", ?) AND attribute_type(c, 'SS')`, `select t where (and (begins_with [a] {"S":"x"}) (contains [b] {"SS":["a","b"]}) `+
		`(attribute_type [c] {"S":"SS"}))`, `{"SS":["a","b"]}`)
	f(`SELECT * FROM t WHERE attribute_exists(a.b[0]) AND NOT attribute_not_exists(a) AND size(c) > 5`, `select t where (and (attribute_exists [a, b, [0]]) (not (attribute_not_exists [a])) (> (size [c]) {"N":"5"}))`)
	f(`SELECT * FROM t WHERE (a = 1) = true AND b = begins_with(c, 'x')`, `select t where (and (= (= [a] {"N":"1"}) {"BOOL":true}) (= [b] (begins_with [c] {"S":"x"})))`)
	f(`SELECT * FROM t WHERE a = 'it''s' AND b = -1.50e1 AND c = true AND d = null`, `select t where (and (= [a] {"S":"it's"}) (= [b] {"N":"-15"}) (= [c] {"BOOL":true}) (= [d] {"NULL":true}))`)
	f(`SELECT * FROM t WHERE a = [1, [], {}] AND b = {'x': {'y': [null]}, 'z': 'v'}`, `select t where (and (= [a] {"L":[{"N":"1"},{"L":[]},{"M":{}}]}) `+
		`(= [b] {"M":{"x":{"M":{"y":{"L":[{"NULL":true}]}}},"z":{"S":"v"}}}))`)
	f(`SELECT * FROM t WHERE a = <<1, 2.0>> AND b = <<'x', 'y'>>`, `select t where (and (= [a] {"NS":["1","2"]}) (= [b] {"SS":["x","y"]}))`)

	f(`INSERT INTO t VALUE {'a': 'x', 'b': {'c': [1]}, 'd': ?, 'e': <<1>>}`, `insert t {"a":{"S":"x"},"b":{"M":{"c":{"L":[{"N":"1"}]}}},"d":{"N":"7"},"e":{"NS":["1"]}}`, `{"N":"7"}`)
	f(`INSERT INTO "t" VALUE {}`, `insert t {}`)

	f(`UPDATE t SET a = 1, b.c[0] = b.d SET e = ? REMOVE f['g'] WHERE k = 'x'`, `update t set [a](= {"N":"1"}) set [b, c, [0]](= [b, d]) set [e](= {"S":"x"}) remove [f, g] where (= [k] {"S":"x"})`, `{"S":"x"}`)
	f(`UPDATE t SET a = a + 1 SET b = 5 - ? SET c = c + d - e WHERE k = 1`, `update t set [a](= (+ [a] {"N":"1"})) set [b](= (- {"N":"5"} {"N":"2"})) set [c](= (- (+ [c] [d]) [e])) where (= [k] {"N":"1"})`, `{"N":"2"}`)
	f(`UPDATE t SET a = list_append(a, [1]) SET b = if_not_exists(c.d, 'x') WHERE k = 1`, `update t set [a](= (list_append [a] {"L":[{"N":"1"}]})) set [b](= (if_not_exists [c, d] {"S":"x"})) where (= [k] {"N":"1"})`)
	f(`UPDATE t SET a = set_add(a, <<1>>) SET b.c = SET_DELETE(b.c, ?) WHERE k = 1`, `update t add [a](= {"NS":["1"]}) delete [b, c](= {"SS":["a","b"]}) where (= [k] {"N":"1"})`, `{"SS":["a","b"]}`)
	f(`UPDATE t REMOVE a REMOVE b[1] WHERE k = 1 RETURNING ALL OLD *`, `update t remove [a] remove [b, [1]] where (= [k] {"N":"1"}) RETURNING ALL OLD *`)
	f(`UPDATE t SET a = 1 WHERE k = 1 RETURNING MODIFIED NEW *`, `update t set [a](= {"N":"1"}) where (= [k] {"N":"1"}) RETURNING MODIFIED NEW *`)
	f(`FROM t WHERE k = 1 SET a = 1 RETURNING ALL NEW *`, `update t set [a](= {"N":"1"}) where (= [k] {"N":"1"}) RETURNING ALL NEW *`)
	f(`UPDATE t SET a = 1 WHERE k = 1 RETURNING MODIFIED OLD *`, `update t set [a](= {"N":"1"}) where (= [k] {"N":"1"}) RETURNING MODIFIED OLD *`)
	f(`DELETE FROM t WHERE k = 1 AND a = 2 RETURNING ALL OLD *`, `delete t where (and (= [k] {"N":"1"}) (= [a] {"N":"2"})) RETURNING ALL OLD *`)

	f(`UPDATE t REMOVE a`, `update t remove [a]`)
	f(`DELETE FROM t`, `delete t`)

	f(`EXISTS(SELECT * FROM t WHERE k = 1 AND a > 2)`, `exists t where (and (= [k] {"N":"1"}) (> [a] {"N":"2"}))`)
	f(`exists (select a from t.i)`, `exists t.i [a] a`)

	f(`SELECT * FROM t WHERE a = `+nested(32), `select t where (= [a] `+strings.Repeat(`{"L":[`, 32)+strings.Repeat(`]}`, 32)+`)`)
	f(`INSERT INTO t VALUE {'a': `+nested(32)+`}`, `insert t {"a":`+strings.Repeat(`{"L":[`, 32)+strings.Repeat(`]}`, 32)+`}`)
	f(`SELECT a`+strings.Repeat("[0]", 31)+` FROM t`, `select t [a`+strings.Repeat(", [0]", 31)+`] a`+strings.Repeat("[0]", 31))
}

// nested returns n nested lists.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestLateFaults checks that errors of ORDER BY and RETURNING don't stop a translation.
func TestLateFaults(t *testing.T) {
	f := func(text, order, returning string) {
		t.Helper()
		c, err := Translate([]byte(text), nil, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		for _, x := range []struct {
			got  error
			want string
		}{{c.OrderFault, order}, {c.ReturningFault, returning}} {
			if got := x.got; got == nil && x.want != "" || got != nil && got.Error() != x.want {
				t.Errorf("%s: got %v, want %q", text, got, x.want)
			}
		}
	}
	const order = "Argument to ORDER BY must be of type VariableReference. Type: "
	f(`SELECT * FROM t ORDER BY a, b.c`, order+"PATH", "")
	f(`SELECT * FROM t ORDER BY 'x'`, order+`"x"`, "")
	f(`SELECT * FROM t ORDER BY 1`, order+"1", "")
	f(`SELECT * FROM t ORDER BY ?`, order+"PARAMETER", "")
	f(`INSERT INTO t VALUE {} RETURNING ALL OLD *`, "", "RETURNING is not supported in INSERT")
	f(`UPDATE t SET a = 1 WHERE k = 1 RETURNING ALL OLD a`, "", "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
	f(`UPDATE t SET a = 1 WHERE k = 1 RETURNING ALL OLD *, ALL NEW *`, "", "Invalid syntax with multiple returning elements in RETURNING clause")
	f(`DELETE FROM t WHERE k = 1 RETURNING ALL NEW *`, "", "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.")
	f(`DELETE FROM t WHERE k = 1 RETURNING MODIFIED OLD *`, "", "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements.")
	f(`DELETE FROM t WHERE k = 1 RETURNING MODIFIED NEW a`, "", "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
}
