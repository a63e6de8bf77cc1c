package embedded

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// withRows opens a store whose table two has the partitions a, b and c with the sort keys 1 to 4
// each; n equals the sort key, and q is an attribute in b and c.
func withRows(t testing.TB) *Store {
	t.Helper()
	s := withStatements(t)
	for _, p := range []string{"a", "b", "c"} {
		for n := 1; n <= 4; n++ {
			more := ""
			if p != "a" {
				more = fmt.Sprintf(", 'q': %d", n)
			}
			s.run(t, fmt.Sprintf("INSERT INTO two VALUE {'p': '%s', 's': %d, 'n': %d, 'g': 'g%d', 'l': 'l%d', 'a': 'x', 'm': {'k': [%d, {'v': 'w'}]}%s}", p, n, n, n%2, 5-n, n, more))
		}
	}
	return s
}

// page is the reply to a SELECT p, s.
type statementPage struct {
	Items            []map[string]map[string]string
	NextToken        string
	LastEvaluatedKey json.RawMessage
}

// keys returns the keys of the items, for example a1 b2.
func (p *statementPage) keys() string {
	var keys []string
	for _, item := range p.Items {
		keys = append(keys, item["p"]["S"]+item["s"]["N"])
	}
	return strings.Join(keys, " ")
}

func (s *Store) page(t testing.TB, statement string, more ...string) (p statementPage) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.mustSend(t, "ExecuteStatement", execute(statement, more...))), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSelectByKey(t *testing.T) {
	s := withRows(t)
	f := func(rest, want string, more ...string) {
		t.Helper()
		p := s.page(t, "SELECT p, s FROM two WHERE "+rest, more...)
		if got := p.keys(); got != want || p.NextToken != "" || p.LastEvaluatedKey != nil {
			t.Errorf("%s: got %s, want %s; %s %s", rest, got, want, p.NextToken, p.LastEvaluatedKey)
		}
	}
	f("p = 'a'", "a1 a2 a3 a4")
	f("'a' = p AND s = 2", "a2")
	f("p = 'a' AND s < 3", "a1 a2")
	f("p = 'a' AND 3 > s", "a1 a2")
	f("p = 'a' AND s <= 3 AND s > 1", "a2 a3")
	f("p = 'a' AND s >= 2 AND 3 >= s AND s <> 2", "a3")
	f("p = 'a' AND s BETWEEN 2 AND 3", "a2 a3")
	f("p = 'a' AND s NOT BETWEEN 2 AND 3", "a1 a4")
	f("p = 'a' AND s IN [4, 2, 9]", "a4 a2")
	f("p = 'a' AND s IN [1, 2, 3] AND s > 1", "a2 a3")
	f("p = 'a' AND s = 1 AND s > 5", "")
	f("p = 'a' AND p = 'b'", "")
	f("p = 'x'", "")
	f("p = 'a' AND n > 2", "a3 a4")
	f("p = 'a' AND s > 1 AND (n = 2 OR n = 4)", "a2 a4")
	f("p = ? AND s = ?", "b3", `"Parameters":[{"S":"b"},{"N":"3.0"}]`)
	f("p IN ['b', 'a'] AND s = 1", "b1 a1")
	f("p IN ('a', 'b') AND s IN (1, 2)", "a1 a2 b1 b2")
	f("p = 'b' OR p = 'a' AND s > 3", "b1 b2 b3 b4 a4")
	f("(p = 'a' OR p = 'c') AND (s = 1 OR s > 3) AND n > 0", "a1 a4 c1 c4")
	f("(p = 'a' AND s < 2) OR (p = 'a' AND s > 3)", "a1 a4")
	f("(p = 'a' AND q = 1) OR (p = 'b' AND q = 1)", "b1")
	f("p = 'a' AND s IS NOT MISSING", "a1 a2 a3 a4")
	f("p = 'a' AND s = n AND 2 BETWEEN s AND n", "a2")
	f("p = 'a' AND attribute_type(s, 'N') AND size(l) = 2", "a1 a2 a3 a4")
	f("p = 'a' AND p <> 'b' AND NOT p > 'a'", "a1 a2 a3 a4")

	// Excluded values of a sort key can't be expressed by bounds: each item is returned
	// once.
	f("(p = 'a' AND s <> 1) OR (p = 'a' AND s <> 2)", "a1 a2 a3 a4")
	f("(p = 'a' AND s > 2) OR (p = 'a' AND NOT s = 4 AND s >= 1) OR (p = 'a' AND s = 1)", "a1 a2 a3 a4")
	f("(p = 'a' AND s <> 3) OR (p = 'b' AND s = 1)", "a1 a2 a4 b1")
}

func TestSelectByScan(t *testing.T) {
	s := withRows(t)
	f := func(rest, want string, more ...string) {
		t.Helper()
		p := s.page(t, "SELECT p, s FROM two "+rest, more...)
		keys := strings.Fields(p.keys())
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: got %s, want %s", rest, got, want)
		}
	}
	f("", "a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4")
	f("WHERE s = 1", "a1 b1 c1")
	f("WHERE p = 'a' AND n = 1 OR n = 4", "a1 a4 b4 c4")
	f("WHERE p > 'a' AND s = 1", "b1 c1")
	f("WHERE NOT p = 'a' AND n = 1", "b1 c1")
	f("WHERE p <> 'a' AND n = 1", "b1 c1")
	f("WHERE begins_with(p, 'a')", "a1 a2 a3 a4")
	f("WHERE q IS MISSING AND n IN [1, 2]", "a1 a2")
	f("WHERE q <> 1 AND n = 1", "a1")
	f("WHERE p = 1 OR s = 4", "a4 b4 c4")
	f("WHERE p = p2 OR n = 3", "a3 b3 c3")
	f("WHERE (p = 'a') = true AND s = 1", "a1")
	f("WHERE p IN ['a', n] AND s = 1", "a1")
}

func TestSelectRefusals(t *testing.T) {
	s := withRows(t)
	f := func(where, message string, more ...string) {
		t.Helper()
		s.expectInvalid(t, "SELECT * FROM two WHERE "+where, message, more...)
	}
	const overlap = "Overlapping conditions with range keys are not supported in where clause"
	f("p IN ['a', 'a']", overlap)
	f("p = 'a' OR p = 'a'", overlap)
	f("p = 'a' AND s IN [1, 1.0]", overlap)
	f("p = 'a' AND (s = 1 OR n = 2)", overlap)
	f("(p = 'a' AND n = 1) OR (p = 'a' AND n = 2)", overlap)
	f("(p = 'a' AND s > 1) OR (p = 'a' AND s <= 2)", overlap)
	f("p = 'a' AND (s BETWEEN 1 AND 2 OR s = 2)", overlap)

	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",%d", i)
		}
		return "[" + b.String()[1:] + "]"
	}
	const many = "Too many decomposed read operations for a given query."
	f("p = 'a' AND s IN "+list(51), many)
	f("p IN ['a', 'b', 'c'] AND s IN "+list(17), many)
	f("p = 'a' AND s = 0"+strings.Repeat(" OR p = 'a' AND s = 0", 50), many)
	f("p = 'a' AND s IN "+list(101), "The IN operator is provided with too many operands; number of operands: 101")
	if got := s.page(t, "SELECT p, s FROM two WHERE p = 'a' AND s IN "+list(50)); got.keys() != "a1 a2 a3 a4" {
		t.Errorf("a SELECT of 50 keys returned %s", got.keys())
	}

	const typed = "Key attribute's data type should match its data type in table's schema: Key "
	f("p = 1", typed+"p")
	f("p IN ['a', 1]", typed+"p")
	f("p = 'a' AND s = 'x'", typed+"s")
	f("p = 'a' AND s IN [1, ?]", typed+"s", `"Parameters":[{"B":"AQ=="}]`)
	f("p = 'a' AND s BETWEEN 'x' AND 'y'", typed+"s")
	f("p = 'a' AND begins_with(s, 'x')", typed+"s")
	f("p = true", "Key value must be of type S, N, or B. Key name: p, Key type: BOOL")
	f("p = ''", "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p")
	const scalar = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	f("p.x = 'a'", scalar+"Key: p")
	f("p = 'a' AND s[0] = 1", scalar+"Key: s")
	f("g.x = 1", scalar+"IndexKey: g")
	s.expectInvalid(t, "SELECT p.x FROM two", scalar+"Key: p")
}

func TestColumns(t *testing.T) {
	s := withRows(t)
	f := func(columns, want string) {
		t.Helper()
		if got := s.rows(t, "SELECT "+columns+" FROM two WHERE p = 'a' AND s = 1"); got != want {
			t.Errorf("%s: got %s, want %s", columns, got, want)
		}
	}
	f("*", `[{"p":{"S":"a"},"s":{"N":"1"},"n":{"N":"1"},"g":{"S":"g1"},"l":{"S":"l4"},"a":{"S":"x"},"m":{"M":{"k":{"L":[{"N":"1"},{"M":{"v":{"S":"w"}}}]}}}}]`)
	f("n, p", `[{"p":{"S":"a"},"n":{"N":"1"}}]`)
	f("n, m.k[1].v, m.k[0]", `[{"n":{"N":"1"},"v":{"S":"w"},"k[0]":{"N":"1"}}]`)
	f("m['k']", `[{"k":{"L":[{"N":"1"},{"M":{"v":{"S":"w"}}}]}}]`)
	f("nope", `[{}]`)
	f("m.nope, n.x", `[{}]`)
	f(`"N"`, `[{}]`)
}

func TestOrderBy(t *testing.T) {
	s := withRows(t)
	f := func(rest, want string) {
		t.Helper()
		if p := s.page(t, "SELECT p, s FROM two WHERE "+rest); p.keys() != want {
			t.Errorf("%s: got %s, want %s", rest, p.keys(), want)
		}
	}
	f("p = 'a' ORDER BY s", "a1 a2 a3 a4")
	f("p = 'a' ORDER BY s DESC", "a4 a3 a2 a1")
	f("p = 'a' AND s > 1 ORDER BY p ASC, s DESC", "a4 a3 a2")
	f("p = 'a' ORDER BY s, s DESC", "a1 a2 a3 a4")
	f("p IN ['b', 'a'] AND s < 3 ORDER BY p, s", "a1 a2 b1 b2")
	f("p IN ['b', 'a'] AND s < 3 ORDER BY s DESC, p", "a2 a1 b2 b1")
	f("p IN ['a', 'b'] AND s < 3 ORDER BY p DESC, s", "b1 b2 a1 a2")
	f("p = 'a' AND s IN [2, 4, 1] ORDER BY s", "a1 a2 a4")
	f("p = 'a' AND s IN [2, 4, 1] ORDER BY s DESC", "a4 a2 a1")
	f("p IN ['b', 'a'] AND s < 3 ORDER BY p", "a2 a1 b2 b1")
	f("p IN ['b', 'a'] AND s < 3 ORDER BY p DESC", "b2 b1 a2 a1")
	if p := s.page(t, "SELECT p, s FROM two.glob WHERE g = 'g0' AND p = 'a' ORDER BY s DESC"); p.keys() != "a4 a2" {
		t.Errorf("got the keys %v", p.keys())
	}

	g := func(rest, message string) { t.Helper(); s.expectInvalid(t, "SELECT * FROM two"+rest, message) }
	g(" ORDER BY s.x", "Argument to ORDER BY must be of type VariableReference. Type: PATH")
	g(" ORDER BY s", "Must have WHERE clause in the statement when using ORDER BY clause.")
	g(" WHERE n = 1 ORDER BY s", "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	g(" WHERE p = 'a' OR n = 1 ORDER BY s", "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	g(" WHERE p = 'a' ORDER BY n", "Attribute n in ORDER BY clause must be part of the primary key")
	g(".glob WHERE g = 'a' ORDER BY p", "Attribute p in ORDER BY clause must be part of the primary key")
	g(" WHERE p IN ['a', 'b'] ORDER BY s", "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.")
}

func TestSelectFromIndex(t *testing.T) {
	s := withRows(t)
	f := func(statement, want string, more ...string) {
		t.Helper()
		if got := s.rows(t, statement, more...); got != want {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
	f("SELECT * FROM two.glob WHERE g = 'g1' AND s = 1 AND p = 'a'", `[{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g1"},"a":{"S":"x"}}]`)
	f(`SELECT * FROM "two"."loc" WHERE p = 'a' AND l < 'l3'`, `[{"p":{"S":"a"},"s":{"N":"4"},"l":{"S":"l1"}},{"p":{"S":"a"},"s":{"N":"3"},"l":{"S":"l2"}}]`)
	f("SELECT s, n FROM two.loc WHERE p = 'a' AND l = 'l1'", `[{"s":{"N":"4"},"n":{"N":"4"}}]`, `"ConsistentRead":true`)
	f("SELECT s, m.k[0] FROM two.loc WHERE p = 'a' AND l = 'l1'", `[{"s":{"N":"4"},"k[0]":{"N":"4"}}]`)
	f("SELECT s FROM two.loc WHERE l = 'l1' AND n > 0", `[]`)
	f("SELECT s FROM two.glob WHERE a = 'x' AND p = 'a' AND s = 2", `[{"s":{"N":"2"}}]`)
	f("SELECT s FROM two.glob WHERE (g = 'g0' AND n = 1) OR (g = 'g1' AND s = 3 AND p = 'b')", `[{"s":{"N":"3"}}]`)

	g := func(statement, message string, more ...string) {
		t.Helper()
		s.expectInvalid(t, statement, message, more...)
	}
	g("SELECT * FROM two.nope", "The table does not have the specified index")
	g("SELECT * FROM two.many", "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.")
	g("SELECT * FROM two.glob", "Strongly consistent read is not supported on Global Secondary Indexes", `"ConsistentRead":true`)
	g("SELECT n, g, m.k FROM two.glob", "One or more parameter values were invalid: Global secondary index glob does not project [n, m]")
	g("SELECT * FROM two.glob WHERE g = 'g1' AND n = 1", "One or more parameter values were invalid: Secondary index glob does not project one or more filter attributes: [n]")
	g("SELECT * FROM two.loc WHERE p = 'a' AND n = 1", "One or more parameter values were invalid: Secondary index loc does not project one or more filter attributes: [n]")
	g("SELECT * FROM two.glob WHERE (g = 'g1' AND n = 1) OR (g = 'g2' AND q = 1) OR (g = 'g0' AND m = 1)",
		"One or more parameter values were invalid: Secondary index glob does not project one or more filter attributes: [q]")
	g("SELECT * FROM two.glob WHERE g = ''", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: glob, IndexKey: g")
	g("SELECT * FROM two.glob WHERE g = 1", "Key attribute's data type should match its data type in table's schema: Key g")
}

// TestPagesOfSelect checks that pages have the same items as the whole, whatever ends a page.
func TestPagesOfSelect(t *testing.T) {
	s := withRows(t)
	f := func(rest string, pages ...string) {
		t.Helper()
		var got []string
		more := []string{`"Limit":2`}
		for range 20 {
			p := s.page(t, "SELECT p, s FROM two"+rest, more...)
			got = append(got, p.keys())
			if (p.NextToken == "") != (p.LastEvaluatedKey == nil) {
				t.Errorf("%s: %q with %s", rest, p.NextToken, p.LastEvaluatedKey)
			}
			if p.NextToken == "" {
				break
			}
			more = []string{`"Limit":2`, `"NextToken":"` + p.NextToken + `"`}
		}
		if strings.Join(got, ", ") != strings.Join(pages, ", ") {
			t.Errorf("%s: got %q, want %q", rest, got, pages)
		}
	}
	f(" WHERE p = 'a'", "a1 a2", "a3 a4", "")
	f(" WHERE p = 'a' ORDER BY s DESC", "a4 a3", "a2 a1", "")
	f(" WHERE p = 'a' AND s > 1", "a2 a3", "a4")
	f(" WHERE p = 'a' AND n = 3", "", "a3", "")
	f(" WHERE p = 'a' AND s = 1", "a1")
	f(" WHERE p IN ['a', 'b'] AND s <= 3", "a1 a2", "a3 b1", "b2 b3", "")
	f(" WHERE p IN ['a', 'b'] AND s IN [2, 3, 4]", "a2 a3", "a4 b2", "b3 b4", "")
	f(" WHERE (p = 'a' AND s <> 2) OR (p = 'a' AND s <> 9)", "a1 a2", "a3 a4", "")
	f(".loc WHERE p = 'a'", "a4 a3", "a2 a1", "")
	f(".loc WHERE p = 'a' AND l > 'l1' ORDER BY l DESC", "a1 a2", "a3")
}

func TestPagesOfScan(t *testing.T) {
	s := withRows(t)
	for _, from := range []string{"two", "two.glob", "two.loc"} {
		whole := s.page(t, "SELECT p, s FROM "+from)
		var keys []string
		more := []string{`"Limit":5`}
		for {
			p := s.page(t, "SELECT p, s FROM "+from, more...)
			keys = append(keys, p.keys())
			if p.NextToken == "" {
				break
			}
			more = []string{`"Limit":5`, `"NextToken":"` + p.NextToken + `"`}
		}
		if got := strings.TrimSpace(strings.Join(keys, " ")); got != whole.keys() || len(keys) != 3 {
			t.Errorf("%s: got %q, want %s", from, keys, whole.keys())
		}
	}
}

// TestPagesOfKeys reads a table without sort keys, item by item: ten reads make a page.
func TestPagesOfKeys(t *testing.T) {
	s := withStatements(t)
	var list []string
	for i := range 25 {
		key := fmt.Sprintf("k%02d", i)
		list = append(list, "'"+key+"'")
		if i%2 == 0 {
			s.run(t, "INSERT INTO one VALUE {'p': '"+key+"'}")
		}
	}
	statement := "SELECT p FROM one WHERE p IN [" + strings.Join(list, ",") + "]"
	f := func(limit []string, want ...int) {
		t.Helper()
		var got []int
		var keys []string
		var next []string
		for range 20 {
			p := s.page(t, statement, append(next, limit...)...)
			got = append(got, len(p.Items))
			for _, item := range p.Items {
				keys = append(keys, item["p"]["S"])
			}
			if p.NextToken == "" {
				break
			}
			next = []string{`"NextToken":"` + p.NextToken + `"`}
		}
		if !slices.Equal(got, want) || !slices.IsSorted(keys) || len(slices.Compact(keys)) != 13 {
			t.Errorf("%s: pages of %v items, want %v: %q", limit, got, want, keys)
		}
	}
	f(nil, 5, 5, 3)
	f([]string{`"Limit":4`}, 4, 4, 4, 1)
	f([]string{`"Limit":13`}, 5, 5, 3)
}

func TestNextTokenRefusals(t *testing.T) {
	s := withRows(t)
	const statement = "SELECT p, s FROM two WHERE p = ?"
	a, b := `"Parameters":[{"S":"a"}]`, `"Parameters":[{"S":"b"}]`
	token := func(text string) string { return `"NextToken":"` + text + `"` }
	first := s.page(t, statement, a, `"Limit":1`).NextToken
	raw, err := base64.URLEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.page(t, statement, a, `"Limit":2`, `"ConsistentRead":true`, token(first)); p.keys() != "a2 a3" {
		t.Errorf("got the keys %v", p.keys())
	}
	s.expectInvalid(t, statement, "NextToken does not match request", b, token(first))
	s.expectInvalid(t, statement+" AND s > 0", "NextToken does not match request", a, token(first))

	// sealed returns a token with a valid checksum.
	sealed := func(body []byte) string {
		sum := crc32.ChecksumIEEE(body)
		return base64.URLEncoding.EncodeToString(append(slices.Clone(body), byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)))
	}
	head := raw[:16]
	if sealed(raw[:len(raw)-4]) != first {
		t.Fatal("the test's checksum differs from the store's")
	}
	f := func(text string) { t.Helper(); s.expectInvalid(t, statement, "Invalid NextToken", a, token(text)) }
	f("x")
	f("abc!")
	f(first[:len(first)-4])
	f(base64.URLEncoding.EncodeToString(append(slices.Clone(raw[:len(raw)-1]), raw[len(raw)-1]+1)))
	f(sealed(head))
	f(sealed(append(slices.Clone(head), 1)))
	f(sealed(append(slices.Clone(head), 51)))
	f(sealed(append(slices.Clone(head), 0x80)))
	for _, key := range []string{`x`, `{}`, `{"p":{"S":"a"}}`, `{"p":{"S":"a"},"s":{"S":"1"}}`, `{"p":{"S":"a"},"s":{"N":"1"},"n":{"N":"1"}}`, `{"p":{"S":"b"},"s":{"N":"1"}}`, `{"p":{"S":""},"s":{"N":"1"}}`} {
		f(sealed(append(append(slices.Clone(head), 0), key...)))
	}
}

// TestLargePages checks that a page ends with the item that reaches a megabyte, for all reads.
func TestLargePages(t *testing.T) {
	s := withStatements(t)
	var keys []string
	for i := range 8 {
		key := fmt.Sprintf("k%d", i)
		keys = append(keys, "'"+key+"'")
		s.mustSend(t, "ExecuteStatement", execute("INSERT INTO one VALUE {'p': '"+key+"', 'x': ?}", `"Parameters":[{"S":"`+strings.Repeat("x", 300<<10)+`"}]`))
	}
	for _, statement := range []string{"SELECT p FROM one", "SELECT p FROM one WHERE p IN [" + strings.Join(keys, ",") + "]"} {
		first := s.page(t, statement)
		second := s.page(t, statement, `"NextToken":"`+first.NextToken+`"`)
		if len(first.Items) != 4 || len(second.Items) != 4 {
			t.Errorf("%s: got pages of %d and %d items", statement, len(first.Items), len(second.Items))
		}
	}
}
