package embedded

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// pair is a part of a statement and of the equivalent native request. Both use the same values;
// the statement has them as parameters.
type pair struct{ statement, native string }

// pairGenerator generates pairs.
type pairGenerator struct {
	r      *rapid.T
	values []string // as JSON
	keys   bool     // conditions include key attributes
}

func (d *pairGenerator) choose(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(d.r, label)
}

// value generates a value.
func (d *pairGenerator) value(of ...string) pair {
	d.values = append(d.values, d.choose("value", of...))
	return pair{"?", fmt.Sprintf(":v%d", len(d.values)-1)}
}

var someValues = []string{`{"S":"a"}`, `{"S":"ab"}`, `{"S":""}`, `{"N":"1"}`, `{"N":"2.50"}`, `{"N":"-3"}`, `{"B":"YQ=="}`, `{"BOOL":true}`, `{"NULL":true}`,
	`{"SS":["a","b"]}`, `{"SS":["b"]}`, `{"NS":["1","2"]}`, `{"L":[]}`, `{"L":[{"N":"1"},{"S":"a"}]}`, `{"M":{"x":{"N":"1"}}}`, `{"M":{}}`}

func (d *pairGenerator) path() pair {
	text := d.choose("path", "a", "a", "b", "b", "c", "m.x", "m.y", "l[0]", "l[1]", "n")
	return pair{text, text}
}

func (d *pairGenerator) operand() pair {
	if rapid.Bool().Draw(d.r, "constant") {
		return d.value(someValues...)
	}
	return d.path()
}

// scalar returns an operand that can be compared by order.
func (d *pairGenerator) scalar() pair {
	if rapid.Bool().Draw(d.r, "constant") {
		return d.value(someValues[:7]...)
	}
	return d.path()
}

// join joins pairs with a text between them.
func join(between string, list ...pair) (p pair) {
	for i, x := range list {
		if i > 0 {
			p.statement += between
			p.native += between
		}
		p.statement += x.statement
		p.native += x.native
	}
	return p
}

func (p pair) within(before, behind string) pair {
	return pair{before + p.statement + behind, before + p.native + behind}
}

// condition generates a condition.
func (d *pairGenerator) condition(depth int) pair {
	if depth > 0 && rapid.IntRange(0, 2).Draw(d.r, "composed") == 0 {
		switch d.choose("operator", "AND", "OR", "NOT") {
		case "AND":
			return join(" AND ", d.condition(depth-1), d.condition(depth-1)).within("(", ")")
		case "OR":
			return join(" OR ", d.condition(depth-1), d.condition(depth-1)).within("(", ")")
		}
		return d.condition(depth-1).within("(NOT ", ")")
	}
	if d.keys && rapid.Bool().Draw(d.r, "of key") {
		return d.keyCondition()
	}
	switch d.choose("condition", "=", "<", "between", "in", "exists", "type", "begins", "contains", "size") {
	case "=":
		return join(d.choose("equal", " = ", " <> "), d.operand(), d.operand())
	case "<":
		return join(d.choose("less", " < ", " <= ", " > ", " >= "), d.scalar(), d.scalar())
	case "between":
		x := join(" BETWEEN ", d.path(), d.scalar())
		return join(" AND ", x, d.path())
	case "in":
		x := d.path()
		list := join(", ", d.operand(), d.operand(), d.operand())
		return join(" IN ", x, list.within("(", ")"))
	case "exists":
		x := d.path()
		if rapid.Bool().Draw(d.r, "missing") {
			return pair{x.statement + " IS MISSING", "attribute_not_exists(" + x.native + ")"}
		}
		return pair{x.statement + " IS NOT MISSING", "attribute_exists(" + x.native + ")"}
	case "type":
		x, names := d.path(), map[string]string{"STRING": "S", "NUMERIC": "N", "NULL": "NULL", "LIST": "L", "STRUCT": "M", "BOOLEAN": "BOOL", "BLOB": "B"}
		word := d.choose("type", "STRING", "NUMERIC", "NULL", "LIST", "STRUCT", "BOOLEAN", "BLOB")
		return pair{x.statement + " IS " + word, "attribute_type(" + x.native + ", :" + names[word] + ")"}
	case "begins":
		return join(", ", d.path(), d.value(`{"S":"a"}`, `{"S":""}`, `{"B":"YQ=="}`)).within("begins_with(", ")")
	case "contains":
		return join(", ", d.path(), d.value(someValues...)).within("contains(", ")")
	}
	return join(" > ", d.path().within("size(", ")"), d.value(`{"N":"0"}`, `{"N":"1"}`))
}

// keyCondition generates a condition of a key attribute.
func (d *pairGenerator) keyCondition() pair {
	p, s := pair{"p", "p"}, pair{"s", "s"}
	hash := func() pair { return d.value(`{"S":"a"}`, `{"S":"b"}`, `{"S":"c"}`) }
	sort := func() pair { return d.value(`{"N":"1"}`, `{"N":"2"}`, `{"N":"3"}`, `{"N":"4"}`) }
	switch d.choose("key", "p", "p", "p in", "s", "s in", "between") {
	case "p":
		return join(" = ", p, hash())
	case "p in":
		return join(" IN ", p, join(", ", hash(), hash()).within("(", ")"))
	case "s":
		return join(d.choose("comparison", " = ", " <> ", " < ", " <= ", " > ", " >= "), s, sort())
	case "s in":
		return join(" IN ", s, join(", ", sort(), sort()).within("(", ")"))
	}
	return join(" AND ", join(" BETWEEN ", s, d.value(`{"N":"1"}`, `{"N":"2"}`)), d.value(`{"N":"2"}`, `{"N":"3"}`))
}

// nativeValues returns the values that a native request uses.
func (d *pairGenerator) nativeValues(texts ...string) string {
	values := map[string]json.RawMessage{}
	all := strings.Join(texts, " ")
	for i, v := range d.values {
		if name := fmt.Sprintf(":v%d", i); strings.Contains(all+" ", name) {
			values[name] = json.RawMessage(v)
		}
	}
	for _, typ := range []string{"S", "N", "NULL", "L", "M", "BOOL", "B"} {
		if strings.Contains(all, ":"+typ+")") {
			values[":"+typ] = json.RawMessage(`{"S":"` + typ + `"}`)
		}
	}
	if len(values) == 0 {
		return ""
	}
	text, _ := json.Marshal(values)
	return `,"ExpressionAttributeValues":` + string(text)
}

// withParameters returns an ExecuteStatement with values for its parameters.
func (d *pairGenerator) withParameters(statement string, more ...string) string {
	if len(d.values) > 0 {
		more = append(more, `"Parameters":[`+strings.Join(d.values, ",")+`]`)
	}
	return execute(statement, more...)
}

// action generates an action of an update: the part of a statement, and the clause and the part of
// the native expression.
func (d *pairGenerator) action(name string) (statement, clause, native string) {
	set := func(right pair) (string, string, string) {
		return "SET " + name + " = " + right.statement, "SET", name + " = " + right.native
	}
	self := pair{name, name}
	switch d.choose("action", "set", "set", "plus", "minus", "default", "append", "remove", "add", "delete") {
	case "plus":
		return set(join(" + ", self, d.value(`{"N":"1"}`, `{"N":"0.5"}`)))
	case "minus":
		return set(join(" - ", d.value(`{"N":"1"}`, `{"N":"0.5"}`), self))
	case "default":
		return set(join(", ", self, d.operand()).within("if_not_exists(", ")"))
	case "append":
		return set(join(", ", self, d.value(`{"L":[]}`, `{"L":[{"N":"9"}]}`)).within("list_append(", ")"))
	case "remove":
		return "REMOVE " + name, "REMOVE", name
	case "add":
		v := d.value(`{"SS":["b","c"]}`, `{"NS":["2","3"]}`)
		return "SET " + name + " = set_add(" + name + ", ?)", "ADD", name + " " + v.native
	case "delete":
		v := d.value(`{"SS":["b","a"]}`, `{"NS":["2"]}`)
		return "SET " + name + " = set_delete(" + name + ", ?)", "DELETE", name + " " + v.native
	}
	return set(d.operand())
}

var nativeReturns = map[string]string{"": "NONE", " RETURNING ALL OLD *": "ALL_OLD", " RETURNING ALL NEW *": "ALL_NEW", " RETURNING MODIFIED OLD *": "UPDATED_OLD",
	" RETURNING MODIFIED NEW *": "UPDATED_NEW"}

// drawWrite generates a statement that writes to table two and the equivalent native request,
// which writes to table nat. several reports that several parts can be invalid, so that the two
// may report different errors.
func drawWrite(r *rapid.T) (statement, op, native string, several bool) {
	d := &pairGenerator{r: r}
	hash, sort := d.choose("p", "a", "b"), rapid.IntRange(1, 2).Draw(r, "s")
	key := fmt.Sprintf(`"p":{"S":"%s"},"s":{"N":"%d"}`, hash, sort)
	where := fmt.Sprintf(" WHERE p = '%s' AND s = %d", hash, sort)
	const more = `,"ReturnConsumedCapacity":"INDEXES"`
	unconditional := pair{"p <> 'x'", "p <> :x"}
	condition := func() pair {
		if rapid.Bool().Draw(r, "conditional") {
			return d.condition(2)
		}
		return unconditional
	}
	x := `,":x":{"S":"x"}`
	values := func(texts ...string) string {
		text := d.nativeValues(texts...)
		switch {
		case !strings.Contains(strings.Join(texts, " "), "p <> :x"):
			return text
		case text == "":
			return `,"ExpressionAttributeValues":{` + x[1:] + `}`
		}
		return strings.TrimSuffix(text, "}") + x + "}"
	}
	onFailure := `"ReturnValuesOnConditionCheckFailure":"ALL_OLD","ReturnConsumedCapacity":"INDEXES"`
	switch d.choose("statement", "INSERT", "UPDATE", "UPDATE", "UPDATE", "DELETE") {
	case "INSERT":
		item, tuple := key, fmt.Sprintf("'p': '%s', 's': %d", hash, sort)
		for _, name := range []string{"a", "b", "c", "m", "l", "n", "g"} {
			if rapid.Bool().Draw(r, "with "+name) {
				of := map[string][]string{"m": {`{"M":{"x":{"N":"1"}}}`, `{"M":{}}`}, "l": {`{"L":[]}`, `{"L":[{"N":"1"},{"S":"a"}]}`, `{"S":"l"}`}, "g": {`{"S":"g"}`}}[name]
				if of == nil {
					of = someValues
				}
				if name == "l" {
					of = []string{`{"S":"l"}`, `{"S":"k"}`}
				}
				d.value(of...)
				item += fmt.Sprintf(`,"%s":%s`, name, d.values[len(d.values)-1])
				tuple += fmt.Sprintf(", '%s': ?", name)
			}
		}
		return d.withParameters("INSERT INTO two VALUE {"+tuple+"}", `"ReturnConsumedCapacity":"INDEXES"`), "PutItem",
			`{"TableName":"nat","Item":{` + item + `},"ConditionExpression":"attribute_not_exists(p)"` + more + `}`, false
	case "UPDATE":
		var actions []string
		clauses := map[string][]string{}
		for _, name := range []string{"a", "b", "c", "m.x", "n", "g"} {
			if rapid.IntRange(0, 2).Draw(r, "change "+name) == 0 || name == "g" && len(actions) == 0 {
				if name == "g" {
					d.value(`{"S":"g"}`, `{"S":"h"}`)
					actions, clauses["SET"] = append(actions, "SET g = ?"), append(clauses["SET"], fmt.Sprintf("g = :v%d", len(d.values)-1))
					continue
				}
				action, clause, text := d.action(name)
				actions, clauses[clause] = append(actions, action), append(clauses[clause], text)
			}
		}
		var update []string
		for _, clause := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
			if len(clauses[clause]) > 0 {
				update = append(update, clause+" "+strings.Join(clauses[clause], ", "))
			}
		}
		text := strings.Join(update, " ")
		cond := condition()
		returning := d.choose("returning", "", " RETURNING ALL OLD *", " RETURNING ALL NEW *", " RETURNING MODIFIED OLD *", " RETURNING MODIFIED NEW *")
		return d.withParameters("UPDATE two "+strings.Join(actions, " ")+where+" AND "+cond.statement+returning, onFailure), "UpdateItem",
			`{"TableName":"nat","Key":{` + key + `},"UpdateExpression":"` + text + `","ConditionExpression":"attribute_exists(p) AND ` + cond.native + `"` +
				values(text, cond.native) + `,"ReturnValues":"` + nativeReturns[returning] + `","ReturnValuesOnConditionCheckFailure":"ALL_OLD"` + more + `}`, len(actions) > 1 || cond != unconditional
	}
	cond := condition()
	returning := d.choose("returning", "", " RETURNING ALL OLD *")
	return d.withParameters("DELETE FROM two"+where+" AND "+cond.statement+returning, onFailure), "DeleteItem",
		`{"TableName":"nat","Key":{` + key + `},"ConditionExpression":"attribute_not_exists(p) OR ` + cond.native + `"` + values(cond.native) +
			`,"ReturnValues":"` + nativeReturns[returning] + `","ReturnValuesOnConditionCheckFailure":"ALL_OLD"` + more + `}`, false
}

// outcome returns the part of a reply that is compared.
func outcome(status int, reply string) string {
	var r struct {
		Type             string `json:"__type"`
		Message          string
		Item, Attributes json.RawMessage
		Items            []json.RawMessage
		ConsumedCapacity json.RawMessage
	}
	if err := json.Unmarshal([]byte(reply), &r); err != nil {
		return err.Error()
	}
	if len(r.Items) > 0 {
		r.Attributes = r.Items[0]
	}
	message := r.Message
	for _, prefix := range []string{oneFault, "Invalid UpdateExpression: ", "Invalid ConditionExpression: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	message = strings.Replace(message, "Duplicate primary key exists in table", "The conditional request failed", 1)
	typ := strings.Replace(r.Type, "DuplicateItemException", "ConditionalCheckFailedException", 1)
	return fmt.Sprint(status, typ, message, orderless(r.Item), orderless(r.Attributes),
		strings.Replace(orderless(r.ConsumedCapacity), `"two"`, `"nat"`, 1))
}

// orderless returns a JSON text with sorted members of objects: the order of an item's attributes
// is undefined.
func orderless[T ~string | ~[]byte](text T) string {
	out, _ := wire.AppendCanonical(nil, []byte(text))
	return string(out)
}

// TestStatementsAgainstNativeWrites checks that a statement that writes has the effect of the
// equivalent native request: on the item and the indexes, in its answer, and in its cost.
func TestStatementsAgainstNativeWrites(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", statementsRange)
	s.mustSend(t, "CreateTable", strings.Replace(statementsRange, `"TableName":"two"`, `"TableName":"nat"`, 1))
	rapid.Check(t, func(r *rapid.T) {
		for _, table := range []string{"two", "nat"} {
			for _, key := range []string{`"a"},"s":{"N":"1"`, `"a"},"s":{"N":"2"`, `"b"},"s":{"N":"1"`, `"b"},"s":{"N":"2"`} {
				s.mustSend(t, "DeleteItem", `{"TableName":"`+table+`","Key":{"p":{"S":`+key+`}}}`)
			}
		}
		for range rapid.IntRange(1, 6).Draw(r, "statements") {
			statement, op, native, several := drawWrite(r)
			got, want := outcome(s.send(t, "ExecuteStatement", statement)), outcome(s.send(t, op, native))
			const wrong = "400com.amazon.coral.validate#ValidationException"
			if got != want && !(several && strings.HasPrefix(got, wrong) && strings.HasPrefix(want, wrong)) {
				r.Fatalf("%s\n%s %s: got\n%s, want\n%s", statement, op, native, got, want)
			}
		}
		for _, from := range []string{"", `,"IndexName":"glob"`, `,"IndexName":"loc"`} {
			got, want := s.mustSend(t, "Scan", `{"TableName":"two"`+from+`}`), s.mustSend(t, "Scan", `{"TableName":"nat"`+from+`}`)
			if orderless(got) != orderless(want) {
				r.Fatalf("%s holds\n%s, want\n%s", from, got, want)
			}
		}
	})
}

// TestSelectAgainstScan checks that a SELECT returns the items of a filtered Scan in all pages.
func TestSelectAgainstScan(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", statementsRange)
	values := append(slices.Clone(someValues), `{"S":"zz"}`)
	i := 0
	for _, p := range []string{"a", "b", "c"} {
		for n := 1; n <= 5; n++ {
			item := fmt.Sprintf(`"p":{"S":"%s"},"s":{"N":"%d"},"n":{"N":"%d"},"m":{"M":{"x":%s}}`, p, n, n%3, values[i%len(values)])
			for k, name := range []string{"a", "b", "c"} {
				if (i+k)%4 > 0 {
					item += fmt.Sprintf(`,"%s":%s`, name, values[(7*i+5*k)%len(values)])
				}
			}
			s.mustSend(t, "PutItem", `{"TableName":"two","Item":{`+item+`}}`)
			i++
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		d := &pairGenerator{r: r, keys: true}
		cond := d.condition(3)
		status, reply := s.send(t, "Scan", `{"TableName":"two","FilterExpression":"`+cond.native+`"`+d.nativeValues(cond.native)+`}`)
		var want struct {
			Message string
			Items   []json.RawMessage
		}
		if err := json.Unmarshal([]byte(reply), &want); err != nil {
			r.Fatal(err)
		}
		var rows []string
		limit := rapid.SampledFrom([]string{"", `"Limit":1`, `"Limit":2`, `"Limit":3`}).Draw(r, "limit")
		next := ""
		for pages := 0; ; pages++ {
			var more []string
			for _, m := range []string{limit, next} {
				if m != "" {
					more = append(more, m)
				}
			}
			got, reply := s.send(t, "ExecuteStatement", d.withParameters("SELECT * FROM two WHERE "+cond.statement, more...))
			var page struct {
				Message, NextToken string
				Items              []json.RawMessage
			}
			if err := json.Unmarshal([]byte(reply), &page); err != nil {
				r.Fatal(err)
			}
			if page.Message == errOverlapping.Message || page.Message == errManyReads.Message {
				return // refused because of its number of reads
			}
			if got != status || page.Message != strings.TrimPrefix(want.Message, "Invalid FilterExpression: ") {
				r.Fatalf("%s %q: got %d %s, want %s", cond.statement, d.values, got, reply, want.Message)
			}
			for _, row := range page.Items {
				rows = append(rows, string(row))
			}
			if page.NextToken == "" {
				break
			}
			if next = `"NextToken":"` + page.NextToken + `"`; pages > 40 {
				r.Fatalf("%s %q does not end", cond.statement, d.values)
			}
		}
		var all []string
		for _, item := range want.Items {
			all = append(all, string(item))
		}
		slices.Sort(rows)
		slices.Sort(all)
		if !slices.Equal(rows, all) {
			r.Fatalf("%s %q: got\n%q, want\n%q", cond.statement, d.values, rows, all)
		}
	})
}
