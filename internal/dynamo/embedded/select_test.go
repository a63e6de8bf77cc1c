package embedded

import (
	"strings"
	"testing"
)

// selectItem is an item of the table range that is in every index.
var selectItem = map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"}

// without returns the item without the named attributes.
func without(item map[string]string, names ...string) map[string]string {
	rest := map[string]string{}
	for name, v := range item {
		rest[name] = v
	}
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

func TestSelect(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "range", selectItem)
	f := func(index, members string, missing ...string) {
		t.Helper()
		want := `{"Count":1,"ScannedCount":1,"Items":[` + itemText(without(selectItem, missing...)) + `]}`
		if missing == nil {
			want = `{"Count":1,"ScannedCount":1}`
		}
		key := "a = :v"
		v := "1"
		if index == "global" || index == "pair" {
			key, v = "c = :v", "3"
		}
		head := `{"TableName":"range"`
		if index != "" {
			head += `,"IndexName":"` + index + `"`
		}
		s.expectSameReply(t, "Scan", head+members+`}`, want)
		s.expectSameReply(t, "Query", head+members+`,"KeyConditionExpression":"`+key+`","ExpressionAttributeValues":{":v":{"S":"`+v+`"}}}`, want)
	}
	whole := []string{""}
	for _, index := range []string{"", "local", "sparse", "global", "pair"} {
		f(index, `,"Select":"COUNT"`)
		f(index, `,"Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"a"`, "b", "c", "d", "e", "f")
		f(index, `,"ProjectionExpression":"a, c"`, "b", "d", "e", "f")
		f(index, `,"ProjectionExpression":"a, b, c, d"`, "e", "f")
	}
	f("", "", whole...)
	f("", `,"Select":"ALL_ATTRIBUTES"`, whole...)
	f("local", "", whole...)
	f("local", `,"Select":"ALL_ATTRIBUTES"`, whole...)
	f("local", `,"Select":"ALL_PROJECTED_ATTRIBUTES"`, whole...)
	f("global", "", whole...)
	f("global", `,"Select":"ALL_ATTRIBUTES"`, whole...)
	f("global", `,"Select":"ALL_PROJECTED_ATTRIBUTES"`, whole...)
	f("global", `,"ProjectionExpression":"a, f"`, "b", "c", "d", "e")
	f("sparse", "", "e", "f")
	f("sparse", `,"Select":"ALL_PROJECTED_ATTRIBUTES"`, "e", "f")
	f("pair", "", "f")
	f("pair", `,"Select":"ALL_PROJECTED_ATTRIBUTES"`, "f")
	f("pair", `,"ProjectionExpression":"e"`, "a", "b", "c", "d", "f")

	// A query of a local index reads other attributes from the table.
	f("sparse", `,"Select":"ALL_ATTRIBUTES"`, whole...)
	f("sparse", `,"ProjectionExpression":"a, f"`, "b", "c", "d", "e")
	f("sparse", `,"Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"e, nothing"`, "a", "b", "c", "d", "f")
}

func TestSelectLegacyAttributes(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "range", selectItem)
	f := func(index string, missing ...string) {
		t.Helper()
		s.expectSameReply(t, "Query", `{"TableName":"range","IndexName":"`+index+`","AttributesToGet":["a","e"],`+byKey("a", "1")[0]+`}`,
			`{"Count":1,"ScannedCount":1,"Items":[`+itemText(without(selectItem, missing...))+`]}`)
	}
	f("local", "b", "c", "d", "f")
	f("sparse", "b", "c", "d", "f")
}

func TestSelectRefusesIndexes(t *testing.T) {
	s := newQueryStore(t)
	f := func(index, members, message string) {
		t.Helper()
		query := byKey("c", "1")[1]
		if index == "sparse" || index == "" {
			query = byKey("a", "1")[1]
		}
		head := `{"TableName":"range",`
		if index != "" {
			head += `"IndexName":"` + index + `",`
		}
		s.expectError(t, "Query", head+members+`,`+query+`}`, "ValidationException", message)
		s.expectError(t, "Scan", head+members+`}`, "ValidationException", message)
	}
	one := "One or more parameter values were invalid: "
	f("pair", `"Select":"ALL_ATTRIBUTES"`,
		one+"Select type ALL_ATTRIBUTES is not supported for global secondary index pair because its projection type is not ALL")
	f("pair", `"ProjectionExpression":"f"`, one+"Global secondary index pair does not project [f]")
	f("pair", `"ProjectionExpression":"a, g, e, f.x"`, one+"Global secondary index pair does not project [f, g]")
	f("pair", `"Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"f"`, one+"Global secondary index pair does not project [f]")

	legacy := `{"TableName":"range","IndexName":"pair","AttributesToGet":["e","f"]`
	s.expectError(t, "Scan", legacy+`}`, "ValidationException", one+"Global secondary index pair does not project [f]")
	s.expectError(t, "Query", legacy+`,`+byKey("c", "1")[0]+`}`, "ValidationException", one+"Global secondary index pair does not project [f]")
}

// A filter sees only the index's attributes: a Query refuses others, a Scan finds nothing.
func TestFilterOnUnprojectedAttributes(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "range", selectItem)
	f := func(index, key, filter, missing string) {
		t.Helper()
		body := `{"TableName":"range","IndexName":"` + index + `","FilterExpression":"` + filter + `","ExpressionAttributeValues":{":f":{"S":"6"}`
		s.expectError(t, "Query", body[:len(body)-1]+`},":k":{"S":"1"}},"KeyConditionExpression":"`+key+` = :k"}`, "ValidationException",
			"One or more parameter values were invalid: Secondary index "+index+" does not project one or more filter attributes: "+missing)
		s.expectSameReply(t, "Scan", body+`}}`, `{"Count":0,"ScannedCount":1,"Items":[]}`)
	}
	f("pair", "c", "f = :f", "[f]")
	f("pair", "c", "f = :f and g = :f or contains(e, h)", "[f, g, h]")
	f("sparse", "a", "f = :f", "[f]")
	s.expectSameReply(t, "Scan", `{"TableName":"range","IndexName":"pair","FilterExpression":"attribute_not_exists(f)"}`,
		`{"Count":1,"ScannedCount":1,"Items":[`+itemText(without(selectItem, "f"))+`]}`)
}

func TestSetText(t *testing.T) {
	f := func(names, want string) {
		t.Helper()
		if got := setText(strings.Fields(names)); got != want {
			t.Errorf("setText(%s) = %s; want %s", names, got, want)
		}
	}
	f("a", "[a]")
	f("b a", "[a, b]")
	f("zz aa mm", "[zz, aa, mm]")
	f("p a b", "[p, a, b]") // p and a differ by 16 buckets
	f("a b c d e f g h i j k l m p q", "[a, b, c, d, e, f, g, h, i, j, k, l, m, p, q]")
}

func TestUnreadableIndexes(t *testing.T) {
	s := newQueryStore(t)
	f := func(message, members string) {
		t.Helper()
		s.expectError(t, "Scan", `{"TableName":"range",`+members+`}`, "ValidationException", message)
		s.expectError(t, "Query", `{"TableName":"range",`+members+`,`+byKey("c", "1")[1]+`}`, "ValidationException", message)
	}
	f("The table does not have the specified index: nothing", `"IndexName":"nothing"`)
	f("Consistent reads are not supported on global secondary indexes", `"IndexName":"global","ConsistentRead":true`)
	table, err := s.table("range")
	if err != nil {
		t.Fatal(err)
	}
	x := *table.info.Index("global")
	x.Status, x.Backfilling = "CREATING", true
	info := *table.info
	info.Indexes = append(info.Indexes[:0:0], info.Indexes...)
	for i := range info.Indexes {
		if info.Indexes[i].Name == x.Name {
			info.Indexes[i] = &x
		}
	}
	table.mu.RUnlock()
	table.info = &info
	f("Cannot read from backfilling global secondary index: global", `"IndexName":"global"`)
	x.Backfilling = false
	f("Cannot read from backfilling global secondary index: global", `"IndexName":"global"`)
}

func TestConsistentReadOfLocalIndexes(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "range", selectItem)
	s.expectSameReply(t, "Query", `{"TableName":"range","IndexName":"local","ConsistentRead":true,`+byKey("a", "1")[1]+`}`,
		`{"Count":1,"ScannedCount":1,"Items":[`+itemText(selectItem)+`]}`)
}
