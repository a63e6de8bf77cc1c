package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

var (
	hashOnly  = &KeySchema{Hash: []KeyAttribute{{"p", value.String}}}
	hashRange = &KeySchema{Hash: []KeyAttribute{{"p", value.String}}, Range: []KeyAttribute{{"c", value.Number}}}
	oneIndex  = &KeySchema{Index: "i", Hash: []KeyAttribute{{"x", value.Binary}}, Range: []KeyAttribute{{"y", value.String}}}
	manyIndex = &KeySchema{Index: "m", Hash: []KeyAttribute{{"h1", value.String}, {"h2", value.Number}},
		Range: []KeyAttribute{{"r1", value.String}, {"r2", value.Number}, {"r3", value.String}}}
)

const keyValues = `{":s":{"S":"abc"},":t":{"S":"abd"},":e":{"S":""},":n":{"N":"5"},":m":{"N":"7"},":b":{"B":"AAE="},":eb":{"B":""},":true":{"BOOL":true},":ss":{"SS":["a"]}}`

func (r *KeyRange) text() string {
	var s []string
	for i := range r.Hash {
		s = append(s, "= "+string(r.Hash[i].Append(nil)))
	}
	for i := range r.Range {
		s = append(s, "= "+string(r.Range[i].Append(nil)))
	}
	if r.Op != 0 {
		last := keyOpNames[r.Op] + " " + string(r.A.Append(nil))
		if r.Op == KeyBetween {
			last += " " + string(r.B.Append(nil))
		}
		s = append(s, last)
	}
	return strings.Join(s, "; ")
}

// rangeOf returns the range of a key condition or the error.
func rangeOf(t testing.TB, s *KeySchema, text string) string {
	t.Helper()
	q, err := parseKeyQuery(text, nil, values(t, keyValues))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r, err := q.Against(s)
	if err != nil {
		return err.Error()
	}
	return r.text()
}

func TestAgainst(t *testing.T) {
	f := func(s *KeySchema, text, want string) {
		t.Helper()
		if got := rangeOf(t, s, text); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const s, n, m, b = `{"S":"abc"}`, `{"N":"5"}`, `{"N":"7"}`, `{"B":"AAE="}`
	f(hashOnly, "p = :s", "= "+s)
	f(hashOnly, ":s = p", "= "+s)
	f(hashRange, "p = :s", "= "+s)
	f(hashRange, "c = :n AND p = :s", "= "+s+"; = "+n)
	f(hashRange, "p = :s AND c < :n", "= "+s+"; < "+n)
	f(hashRange, "p = :s AND c <= :n", "= "+s+"; <= "+n)
	f(hashRange, "p = :s AND c > :n", "= "+s+"; > "+n)
	f(hashRange, "p = :s AND c >= :n", "= "+s+"; >= "+n)
	f(hashRange, "p = :s AND :n >= c", "= "+s+"; <= "+n)
	f(hashRange, "p = :s AND c BETWEEN :n AND :m", "= "+s+"; between "+n+" "+m)
	f(oneIndex, "x = :b AND begins_with(y, :s)", "= "+b+"; begins_with "+s)
	f(manyIndex, "h2 = :n AND h1 = :s", "= "+s+"; = "+n)
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 < :s", "= "+s+"; = "+n+"; < "+s)
	f(manyIndex, "r2 BETWEEN :n AND :m AND h1 = :s AND r1 = :t AND h2 = :n", "= "+s+"; = "+n+`; = {"S":"abd"}; between `+n+" "+m)
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 = :s AND r2 = :n AND r3 = :t", "= "+s+"; = "+n+"; = "+s+"; = "+n+`; = {"S":"abd"}`)
}

func TestAgainstErrors(t *testing.T) {
	f := func(s *KeySchema, text, want string) {
		t.Helper()
		if got := rangeOf(t, s, text); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const (
		missed      = "Query condition missed key schema element: "
		tooMany     = "The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)"
		unsupported = "Query key condition not supported"
		typ         = "One or more parameter values were invalid: Condition parameter type does not match schema type"
		empty       = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p"
	)
	f(hashOnly, "z = :s", missed+"p")
	f(hashOnly, "z > :s", missed+"p")
	f(hashOnly, "p = :s AND c = :n", fmt.Sprintf(tooMany, 2, 1))
	f(hashOnly, "y = :s AND z = :s", fmt.Sprintf(tooMany, 2, 1))
	f(hashOnly, "p > :s", unsupported)
	f(hashOnly, "p BETWEEN :s AND :t", unsupported)
	f(hashOnly, "begins_with(p, :s)", unsupported)
	f(hashOnly, "p > :n", typ)
	f(hashOnly, "p = :n", typ)
	f(hashOnly, "p = :true", typ)
	f(hashOnly, "p = :ss", typ)
	f(hashOnly, "p = :e", empty)
	f(hashRange, "c = :n", missed+"p")
	f(hashRange, "p = :s AND z = :n", missed+"c")
	f(hashRange, "z = :s AND c = :n", missed+"p")
	f(hashRange, "p < :s AND c = :n", unsupported)
	f(hashRange, "p < :s AND z = :n", unsupported)
	f(hashRange, "p = :s AND c = :s", typ)
	f(hashRange, "p = :s AND begins_with(c, :s)", typ)
	f(hashRange, "p = :s AND c = :n AND z = :n", fmt.Sprintf(tooMany, 3, 2))
	f(oneIndex, "x = :s", typ)
	f(oneIndex, "x = :eb", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty binary value. IndexName: i, IndexKey: x")
	f(oneIndex, "x = :b AND y > :e", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: i, IndexKey: y")
	f(oneIndex, "x = :b AND begins_with(y, :e)", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: i, IndexKey: y")
	f(oneIndex, "x = :b AND y BETWEEN :e AND :s", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: i, IndexKey: y")

	const (
		hash = "All HASH key attributes must be specified with an equality condition: [h1, h2]"
		gap  = "RANGE key attributes %s must have equality conditions specified in the query because a condition is present on key attribute %s"
		rng  = "RANGE key attributes must be specified from left to right, with an equality condition on all but the last one specified: [r1, r2, r3]"
	)
	f(manyIndex, "h1 = :s", missed+"h2. "+hash)
	f(manyIndex, "h2 = :n AND r1 = :s", missed+"h1. "+hash)
	f(manyIndex, "h1 = :s AND h2 > :n", unsupported+". "+hash)
	f(manyIndex, "h1 = :s AND h2 = :n AND r2 = :n", fmt.Sprintf(gap, "r1", "r2"))
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 = :s AND r3 = :s", fmt.Sprintf(gap, "r2", "r3"))
	f(manyIndex, "h1 = :s AND h2 = :n AND r3 = :s", fmt.Sprintf(gap, "r1, r2", "r3"))
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 > :s AND r2 = :n", fmt.Sprintf(gap, "r1", "r2"))
	f(manyIndex, "h1 = :s AND h2 = :n AND z = :n", missed+"r1. "+rng)
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 = :s AND r2 = :n AND r3 = :t AND z = :n", fmt.Sprintf(tooMany, 6, 5))
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 = :s AND z = :n", missed+"r2. "+rng)
	f(manyIndex, "h1 = :n AND h2 = :n", typ)
	f(manyIndex, "h1 = :s AND h2 = :n AND r1 = :n", typ)
	f(manyIndex, "h1 = :e AND h2 = :n", "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: m, IndexKey: h1")
}

// TestAgainstVisit checks that Visit is called before each attribute's condition is checked.
func TestAgainstVisit(t *testing.T) {
	f := func(s KeySchema, text, want string) {
		t.Helper()
		var visited []int
		s.Visit = func(attribute int) error { visited = append(visited, attribute); return nil }
		got := rangeOf(t, &s, text)
		if got = fmt.Sprint(visited, " ", got); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
		s.Visit = func(int) error { return &Error{"stop"} }
		if got := rangeOf(t, &s, text); got != "stop" {
			t.Errorf("%s: got %s, want Visit's error", text, got)
		}
	}
	f(*hashRange, "p = :s AND c > :n", `[0 1] = {"S":"abc"}; > {"N":"5"}`)
	f(*hashRange, "p = :n AND c > :n", "[0] One or more parameter values were invalid: Condition parameter type does not match schema type")
	f(*hashOnly, "p = :s AND z = :n", "[0] The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)")
	f(*manyIndex, "h1 = :s AND h2 = :n AND r1 < :s", `[0 1 2] = {"S":"abc"}; = {"N":"5"}; < {"S":"abc"}`)
}

// TestKeyQueryCount checks that the number of comparisons is limited without a table.
func TestKeyQueryCount(t *testing.T) {
	f := func(comparisons int, want string) {
		t.Helper()
		var terms []string
		for i := range comparisons {
			terms = append(terms, fmt.Sprintf("a%d = :s", i))
		}
		c, err := ParseCondition("KeyCondition", []byte(strings.Join(terms, " AND ")), nil, values(t, keyValues))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.KeyQuery(); message(err) != want {
			t.Errorf("%d comparisons: got %v; want %s", comparisons, err, want)
		}
	}
	f(1, "")
	f(8, "")
	f(9, "Invalid KeyConditionExpression: Conditions can be of length 1 or 2 only")
}

func TestCheckFilter(t *testing.T) {
	v := values(t, keyValues)
	f := func(s *KeySchema, text, want string) {
		t.Helper()
		c, err := ParseCondition("Filter", []byte(text), nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got := message(c.CheckFilter(s)); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const filter = "Filter Expression can only contain non-primary key attributes: Primary key attribute: "
	f(hashRange, "p = :s", filter+"p")
	f(hashRange, "a = :s OR NOT size(c) > :n", filter+"c")
	f(hashRange, "a = c AND b = p", filter+"p")
	f(hashRange, "attribute_exists(p.x)", filter+"p")
	f(hashRange, "a IN (:s, b, c)", filter+"c")
	f(hashRange, "a = :s AND x = :b", "")
	f(hashRange, "a.p = :s", "")
	f(oneIndex, "p = :s AND c = :n", "")
	f(oneIndex, "y = :s", filter+"y")
	legacy, err := LegacyFilter([]byte(`{"a":{"ComparisonOperator":"NULL"},"c":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := message(legacy.CheckFilter(hashRange)), "QueryFilter can only contain non-primary key attributes: Primary key attribute: c"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if err := legacy.CheckFilter(hashOnly); err != nil {
		t.Error(err)
	}
}

func TestCheckScalars(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		paths, err := ParsePaths([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := message(CheckScalars(paths, hashRange, []KeySchema{*oneIndex, *manyIndex})); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
	const scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	f("p,c,x,y,a.p,b[1]", "")
	f("a,p.x", scalars+"Key: p")
	f("c[0]", scalars+"Key: c")
	f("x.a", scalars+"IndexKey: x")
	f("a,y[1].b", scalars+"IndexKey: y")
	f("x.a,p.b", scalars+"Key: p")
	f("r2.a", scalars+"IndexKey: r2")
}
