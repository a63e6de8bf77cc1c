package partiql

import (
	"strings"
	"testing"
)

// shape returns a syntax tree as nested lists.
func (n *node) shape() string {
	var b strings.Builder
	list := func(open string, nodes []*node) {
		b.WriteString(open)
		for i, x := range nodes {
			if i > 0 || open == "(" {
				b.WriteByte(' ')
			}
			b.WriteString(x.shape())
		}
	}
	switch n.kind {
	case nodeName:
		return n.word
	case nodeText:
		return "'" + n.word + "'"
	case nodeNumber, nodeBoolean:
		return n.word
	case nodeNull:
		return "null"
	case nodeMissing:
		return "missing"
	case nodeParameter:
		return "?" + string(rune('0'+n.index))
	case nodeWildcard:
		return "[*]"
	case nodeUnpivot:
		return ".*"
	case nodePath:
		list("path(", n.nodes)
	case nodeList:
		list("[", n.nodes)
		return b.String() + "]"
	case nodeBag:
		list("<<", n.nodes)
		return b.String() + ">>"
	case nodeTuple:
		list("{", n.nodes)
		return b.String() + "}"
	case nodeOperator:
		list("("+n.word+" ", n.nodes)
	case nodeIs:
		list("(is "+n.word+" ", n.nodes)
	case nodeCall:
		list(n.word+"(", n.nodes)
	default:
		return n.className()
	}
	return b.String() + ")"
}

// TestExpressions compares syntax trees with those of the PartiQL parser that the service uses.
func TestExpressions(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		n, _, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := n.shape(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f("a.b.c", "path(a 'b' 'c')")
	f("a[1].b['c'][x]", "path(a 1 'b' 'c' x)")
	f("a[*].*", "path(a [*] .*)")
	f(`"a""b"`, `a"b`)
	f("'a''b'", "'a'b'")
	f("$a_1", "$a_1")
	f("@a", "a")
	f("'é' = \"é\"", "(= 'é' é)")
	f("a -- b\n = 1", "(= a 1)")
	f("a /* b */ = 1;", "(= a 1)")
	f("a = ? AND b = ?", "(and (= a ?0) (= b ?1))")
	f("a OR b AND c", "(or a (and b c))")
	f("a AND b OR c", "(or (and a b) c)")
	f("a AND b AND c", "(and (and a b) c)")
	f("a AND (b AND c)", "(and a (and b c))")
	f("NOT a AND b", "(and (not a) b)")
	f("NOT a = b", "(not (= a b))")
	f("NOT NOT a", "(not (not a))")
	f("a = NOT b", "(= a (not b))")
	f("a = b = c", "(= (= a b) c)")
	f("a = b < c", "(= a (< b c))")
	f("a < b < c", "(< (< a b) c)")
	f("a != b", "(<> a b)")
	f("a <> -1", "(<> a -1)")
	f("a<-1", "(< a -1)")
	f("a + b * c - d", "(- (+ a (* b c)) d)")
	f("a || b = c", "(= (|| a b) c)")
	f("- - 1", "1")
	f("-1.5e3", "-1.5e3")
	f("+ 1", "1")
	f("a -1", "(- a 1)")
	f("a+-1", "(+ a -1)")
	f("- a", "(- a)")
	f("+'a'", "(+ 'a')")
	f("a BETWEEN 1 AND 2 AND b", "(and (between a 1 2) b)")
	f("a NOT BETWEEN 1+1 AND 2", "(not (between a (+ 1 1) 2))")
	f("a LIKE b ESCAPE c", "(like a b c)")
	f("a NOT LIKE b", "(not (like a b))")
	f("a IN (1, 2)", "(in a [1 2])")
	f("a IN (1)", "(in a [1])")
	f("a IN [1] AND b", "(and (in a [1]) b)")
	f("a NOT IN <<1>>", "(not (in a <<1>>))")
	f("NOT a IN b", "(not (in a b))")
	f("a IN (SELECT b FROM c)", "(in a Select)")
	f("a IS MISSING = true", "(= (is missing a) true)")
	f("a IS NOT NULL", "(not (is null a))")
	f("a IS DOUBLE PRECISION", "(is double_precision a)")
	f("a IS decimal(1,2)", "(is decimal a)")
	f("a IS varchar(3)", "(is character_varying a)")
	f("(a)", "a")
	f("(a, b)", "[a b]")
	f("[]", "[]")
	f("[[1], <<>>]", "[[1] <<>>]")
	f("<< <<1>> >>", "<<<<1>>>>")
	f("{}", "{}")
	f("{'a':1, b:{1:2}}", "{'a' 1 b {1 2}}")
	f("null.a", "path(null 'a')")
	f("?.a[0]", "path(?0 'a' 0)")
	f("'a'.b", "path('a' 'b')")
	f("foo(1).a", "path(foo(1) 'a')")
	f(`"Foo"()`, "foo()")
	f("SIZE(a)", "size(a)")
	f("bag(1, 2)", "<<1 2>>")
	f("VALUES (1), (2, 3)", "<<[1] [2 3]>>")
	f("a UNION ALL b", "(union_all a b)")
	f("COUNT(*)", "CallAgg")
	f("CASE a WHEN 1 THEN 2 ELSE 3 END", "SimpleCase")
	f("CASE WHEN a THEN b END", "SearchedCase")
	f("CAST(a AS int)", "Cast")
	f("DATE '2020-01-01'", "Date")
	f("EXEC a 1, 2", "Exec")
	f("DROP INDEX i ON t", "DropIndex")
	f("CREATE INDEX ON t (a, b.c)", "CreateIndex")
	f("(SELECT a FROM b)", "Select")
}

func TestGrammar(t *testing.T) {
	for _, text := range []string{"SELECT a.b.* FROM t", "SELECT ALL * FROM t", "SELECT DISTINCT a FROM t", "SELECT VALUE a FROM t", "PIVOT a AT b FROM t",
		"SELECT * FROM t WHERE a = 1 ORDER BY a GROUP BY a", "SELECT * FROM t GROUP PARTIAL BY a", "SELECT * FROM t GROUP BY a AS b GROUP AS g HAVING a LIMIT 1",
		"SELECT * FROM t INNER JOIN u ON a = b", "SELECT * FROM t LEFT OUTER JOIN u ON a = b", "SELECT * FROM t CROSS JOIN u", "SELECT * FROM t, u", "SELECT * FROM (t)",
		"SELECT * FROM (t, u)", "SELECT * FROM (1)", "SELECT * FROM t.*", "SELECT * FROM 'a'.b", "SELECT * FROM UNPIVOT t AS a AT b BY c", "SELECT * FROM t LET a AS b, c AS d WHERE b",
		"SELECT * FROM t ORDER BY a, b DESC, c ASC", "SELECT a, b c FROM t", `SELECT "a" "b" FROM "order"`, "SELECT * FROM t WHERE EXISTS(SELECT * FROM u)",
		"INSERT INTO t VALUE {}", "INSERT INTO t VALUE {} AT 1", "INSERT INTO t VALUE {} ON CONFLICT WHERE a DO NOTHING", "INSERT INTO t VALUE {} RETURNING ALL OLD *", "INSERT INTO t <<{}>>",
		"UPDATE t SET a = 1 AND b = 2 WHERE c = 1", "UPDATE t SET a.b[1] = 1, c['x'] = 2 REMOVE d WHERE c = 1", "UPDATE t SET a[b] = 1", "UPDATE t AS u SET a[-1] = 1",
		"FROM t WHERE a = 1 SET b = 2 RETURNING MODIFIED NEW *", "SET a = 1", "REMOVE a", "DELETE FROM t", "DELETE FROM t AS u WHERE a RETURNING ALL OLD a.b, ALL NEW *", "EXISTS()"} {
		if _, _, err := parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	f := func(detail string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			switch _, _, err := parse([]byte(text)); {
			case err == nil:
				t.Errorf("%s was accepted", text)
			case err.Text != "Statement wasn't well formed, can't be processed: "+detail:
				t.Errorf("%s: got %q, want %q", text, err.Text, detail)
			}
		}
	}
	f("", "`", "é", "a#b", `"abc`, "'abc", "/* abc", "``")
	f("Unexpected term", "", " -- a", "+", "-", "*", ",", "SELECT", "SELECT * FROM", "INSERT INTO t VALUE", "a IN ()", "NOT")
	f("Unexpected operator", "a=<b", "a=>b", "a==b", "SELECT * FROM t WHERE a[ = 1")
	f("Unexpected keyword", "upper", "INSERT", "EXISTS", "INSERT t", "SELECT * FROM t WHERE size = 1")
	f("Unexpected token after expression", "a b", "1 2", "1.a", "a:b", "SELECT * FROM t LIMIT 1 WHERE a", "DELETE FROM t WHERE a = 1)", "INSERT INTO t VALUE {} WHERE a")
	f("Unexpected token after semicolon. (Only one query is allowed.)", "a;;", "a; b")
	f("Missing right-hand side expression of infix operator", "a IN", "a =", "SELECT * FROM t WHERE a = 1 AND")
	f("Expected AND keyword", "a BETWEEN 1 OR 2")
	f("Expected expression after AND", "a BETWEEN 1 AND", "a BETWEEN 1 AND;")
	f("Expected expression after ESCAPE", "a LIKE 'b' ESCAPE")
	f("Expected type name", "a IS FOO", "a IS NOT", "CAST(a AS foo)")
	f("CAST for decimal must have arity of 0..2", "a IS decimal(1,2,3)")
	f("Type parameter must be an unsigned integer literal", "a IS decimal(x)", "a IS decimal(1.5)")
	f("Expected RIGHT_PAREN", "(a", "foo(a", "(a, b", "COUNT(*", "SELECT * FROM (t, u", "a IS decimal(1", "CREATE INDEX ON t (a")
	f("Expected RIGHT_BRACKET", "[a", "a[1 = 1", "a[1,2] = 1")
	f("Expected RIGHT_CURLY", "{'a':1")
	f("Expected RIGHT_DOUBLE_ANGLE_BRACKET", "<<a", "<<1]")
	f("Expected COLON", "{'a'}", "{'a' 1}")
	f("Expected BY", "SELECT * FROM t ORDER", "SELECT * FROM t ORDER a", "SELECT * FROM t GROUP a")
	f("Expected AS", "CAST(a)")
	f("Expected ON", "CREATE INDEX", "DROP INDEX i")
	f("Expected 'ON'", "SELECT * FROM t JOIN u")
	f("Expected '='", "UPDATE t SET a + 1 = 1", "UPDATE t SET a")
	f("Expected FROM after SELECT list", "PIVOT a AT b", "SELECT a WHERE b", "SELECT a 'b' FROM t", "SELECT a AS x.y FROM t")
	f("Expected FROM after DELETE", "DELETE", "DELETE t WHERE a = 1")
	f("Expected data manipulation", "FROM t", "UPDATE t", "UPDATE t WHERE a = 1", "SELECT a, FROM t")
	f("Expected AS following LET expr", "SELECT * FROM t LET a")
	f("Expected AS keyword", "SELECT * FROM t GROUP BY a GROUP g")
	f("Expected AT keyword", "PIVOT a FROM t")
	f("Expected END keyword", "CASE a WHEN 1 THEN 2")
	f("Expected THEN keyword", "CASE WHEN a")
	f("Expected a WHEN clause in CASE", "CASE a END")
	f("Expected identifier for AS-alias", "SELECT a AS FROM t", "SELECT a AS 'x' FROM t", "SELECT * FROM t LET a AS", "SELECT a FROM t AS order")
	f("Expected identifier for AT-alias", "SELECT * FROM t AT")
	f("Expected identifier for BY-alias", "SELECT * FROM t BY 1")
	f("Expected identifier for GROUP name", "SELECT * FROM t GROUP BY a GROUP AS 1")
	f("Expected identifier for simple path", "UPDATE", "UPDATE 1", "FROM t SET", "INSERT INTO", "UPDATE 't' SET a = 1")
	f("Expected identifier!", "DROP TABLE", "CREATE TABLE 1", "DROP INDEX")
	f("Index target must be an identifier", "CREATE INDEX ON 1")
	f("Table target must be an identifier", "DROP INDEX i ON 1")
	f("Expected parenthesis for keys", "CREATE INDEX ON t a")
	f("Unexpected token following CREATE", "CREATE", "CREATE VIEW x")
	f("Unexpected token following DROP", "DROP")
	f("Unexpected tokens after CREATE statement!", "CREATE TABLE t x")
	f("Unexpected tokens after DROP statement!", "DROP TABLE t x")
	f("No stored procedure provided", "EXEC")
	f("Unexpected LEFT_PAREN found following stored procedure call", "EXEC a(1)")
	f("Missing left parenthesis after CAST", "CAST a")
	f("Aggregate functions are always unary", "SUM()", "COUNT()", "SUM(a, b)")
	f("sum(*) is not allowed", "SUM(*)")
	f("foo(*) is not allowed", "foo(*)")
	f("Identifier must follow @-operator", "@", "@1")
	f("Expected LEFT_PAREN", "date_add")
	f("Expected time string followed by the keyword TIME OR TIME WITH TIME ZONE, found DECIMAL", "TIME 1.5")
	f("Expected time string followed by the keyword TIME OR TIME WITH TIME ZONE, found BOOL", "TIME true")
	f("Expected date string followed by the keyword DATE, found INT", "DATE 1", "DATE ?")
	f("Expected date string followed by the keyword DATE, found NULL", "DATE null", "DATE missing")
	f("Expected date string followed by the keyword DATE, found SYMBOL", "DATE x", "SELECT date FROM t", "SELECT * FROM t WHERE date = 1")
	f("Expected LEFT_PAREN for row value constructor", "VALUES", "VALUES 1", "INSERT INTO t VALUES 1", "VALUES (1), 2")
	f("Invalid path dot component", "a. = 1", "SELECT * FROM t.", "UPDATE t.", "a.?")
	f("Invalid path dot component for simple path", "UPDATE t SET a.* = 1")
	f("Invalid path component for simple path", "UPDATE t SET a[?] = 1", "UPDATE t SET a[*] = 1", "UPDATE t SET a[1+1] = 1")
	f("Invalid use of * in select list", "SELECT a[*] FROM t", "SELECT a.*.b FROM t", "SELECT a[*].b FROM t")
	f("Cannot use [] and * together in SELECT list expression", "SELECT a[1].* FROM t")
	f("Other expressions may not be present in the select list when '*' is used without dot notation.", "SELECT *, a FROM t", "SELECT *, * FROM t")
	f("Literals (including ordinals) not supported in GROUP BY", "SELECT * FROM t GROUP BY 1")
	f("invalid ON CONFLICT syntax", "INSERT INTO t VALUE 1 ON CONFLICT", "INSERT INTO t VALUE 1 ON CONFLICT WHERE a", "INSERT INTO t VALUE {'a':1} ON CONFLICT DO NOTHING")
	f("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.", "INSERT INTO t VALUE 1 RETURNING", "UPDATE t SET a = 1 RETURNING ALL", "DELETE FROM t RETURNING ALL OLD *,")
	f("More than two paths in RETURNING columns.", "UPDATE t SET a = 1 RETURNING ALL NEW a.b.c")
	f("Unsupported syntax in RETURNING columns.", "UPDATE t SET a = 1 RETURNING ALL NEW a + 1")
	f("Keyword delete only expected at the top level in the query", "SELECT (DELETE FROM u) FROM t", "SELECT * FROM t WHERE (DELETE FROM u)")
	f("Keyword null only expected at the top level in the query", "SELECT (UPDATE u SET a=1) FROM t")
	f("Keyword set only expected at the top level in the query", "SELECT * FROM t ORDER BY (SET a = 1)")
	f("Keyword remove only expected at the top level in the query", "SELECT (REMOVE a) FROM t")
	f("Keyword insert_into only expected at the top level in the query", "SELECT (INSERT INTO u VALUE 1) FROM t", "UPDATE t SET x = INSERT INTO y VALUE 1")
	f("Keyword drop only expected at the top level in the query", "SELECT * FROM t WHERE DROP TABLE x")
}

func TestPositions(t *testing.T) {
	f := func(text, word string, want Pos) {
		t.Helper()
		tokens, ok := tokenize([]byte(text))
		for _, x := range tokens {
			if ok && string(x.text) == word {
				if x.pos != want {
					t.Errorf("%q: got %s at %v, want %v", text, word, x.pos, want)
				}
				return
			}
		}
		t.Errorf("%q: the word %s was not found", text, word)
	}
	f("a", "a", Pos{1, 1, 1})
	f("  ab c", "c", Pos{1, 6, 1})
	f("a\nbc", "bc", Pos{2, 1, 2})
	f("a\r\n b", "b", Pos{2, 2, 1})
	f("a\r\rb", "b", Pos{3, 1, 1})
	f("a -- x\nb", "b", Pos{2, 1, 1})
	f("a /* x\n */b", "b", Pos{2, 4, 1})
	f("'é' b", "b", Pos{1, 5, 1})
	f("'é' b", "'é'", Pos{1, 1, 3})
	f("'a''b'", "'a''b'", Pos{1, 1, 6})
	f("a >= <<b", "b", Pos{1, 8, 1})
	f("'a\nb' c", "'a\nb'", Pos{1, 1, 5})
	f("'a\nb' c", "c", Pos{2, 4, 1})
}
