package differential

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// compare tells how two answers to one request differ in what the API
// promises; "" if they don't.
func (t tables) compare(r request, a, b answer) string {
	if a.status != b.status || a.fault != b.fault {
		return "status or type of error"
	}
	if body, ok := r.body.(object); ok && r.operation == "Scan" && body["ExclusiveStartKey"] != nil {
		return "" // what is behind it depends on the order, which is anybody's
	}
	x, y := t.normalize(r, a.body), t.normalize(r, b.body)
	if s, u := text(x), text(y); s != u {
		at := 0
		for at < min(len(s), len(u)) && s[at] == u[at] {
			at++
		}
		return fmt.Sprintf("data, beginning with %s\nand %s", around(s, at), around(u, at))
	}
	return ""
}

func around(s string, at int) string { return s[max(0, at-60):min(len(s), at+120)] }

// unspecified are members whose values differ from run to run, or that are the
// same in no two implementations; messages are held against the service's
// elsewhere.
var unspecified = map[string]bool{
	"LastEvaluatedTableName": true, "LastEvaluatedStreamArn": true, "StreamArn": true, "StreamLabel": true, "CreationRequestDateTime": true,
	"ShardId": true, "SequenceNumberRange": true, "ShardIterator": true, "NextShardIterator": true, "Records": true,
	"message": true, "Message": true, "__type": true, "NextToken": true, "LastEvaluatedKey": true,
	"TableArn": true, "TableId": true, "IndexArn": true, "LatestStreamArn": true, "LatestStreamLabel": true,
	"CreationDateTime": true, "LastUpdateToPayPerRequestDateTime": true, "LastIncreaseDateTime": true, "LastDecreaseDateTime": true,
	"ItemCount": true, "TableSizeBytes": true, "IndexSizeBytes": true,
}

func init() {
	for _, d := range departures {
		for _, name := range d.hides {
			unspecified[name] = true
		}
	}
}

// tables are those of a scene.
type tables []*table

func (t tables) named(name any) *table {
	for _, one := range t {
		if one.name == name {
			return one
		}
	}
	return nil
}

// normalize writes a body so that what may differ doesn't.
func (t tables) normalize(r request, body any) any {
	out := normalizeValue(body)
	o, ok := out.(object)
	if !ok {
		return out
	}
	asked, _ := r.body.(object)
	switch r.operation {
	case "Scan", "ExecuteStatement":
		sortTexts(o["Items"])
	case "ListTables":
		all, _ := o["TableNames"].(list)
		o["TableNames"] = slices.DeleteFunc(all, others)
	case "ListStreams":
		sortTexts(o["Streams"])
		if asked["TableName"] == nil { // those of other rounds fill pages
			delete(o, "Streams")
		}
	case "Query":
		if asked["IndexName"] != nil {
			o["order"] = t.order(asked, o["Items"])
			sortTexts(o["Items"])
		}
	case "BatchGetItem":
		if tables, ok := o["Responses"].(object); ok {
			for _, items := range tables {
				sortTexts(items)
			}
		}
	case "DescribeTable", "CreateTable", "UpdateTable", "DeleteTable":
		for _, description := range o {
			if d, ok := description.(object); ok {
				hideStates(r.operation, d)
				for _, name := range []string{"AttributeDefinitions", "LocalSecondaryIndexes", "GlobalSecondaryIndexes"} {
					sortTexts(d[name])
				}
			}
		}
	}
	return o
}

// others tells what belongs to other rounds.
func others(listed any) bool { return !strings.Contains(text(listed), side) }

// hideStates removes from the answer to a change what a table and its indexes are
// about to be, since DynamoDB Local is mostly done when it answers, and what it
// alone tells of a table that is deleted.
func hideStates(operation string, description object) {
	if operation == "DescribeTable" {
		return
	}
	delete(description, "TableStatus")
	delete(description, "AttributeDefinitions")
	indexes, _ := description["GlobalSecondaryIndexes"].(list)
	for _, x := range indexes {
		delete(x.(object), "IndexStatus")
	}
	if operation == "DeleteTable" {
		for _, name := range []string{"AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes", "GlobalSecondaryIndexes"} {
			delete(description, name)
		}
	}
}

// order is what the order of a query of an index promises: its sort key's values.
// Items with the same one come in any order, and those without were projected.
func (t tables) order(asked object, items any) any {
	of := t.named(asked["TableName"])
	if of == nil {
		return nil
	}
	values := list{}
	for _, x := range of.indexes() {
		if x.name != asked["IndexName"] || x.sort == nil {
			continue
		}
		all, _ := items.(list)
		for _, item := range all {
			if v := item.(object)[x.sort.name]; v != nil {
				values = append(values, v)
			}
		}
	}
	return values
}

// normalizeValue copies a body without what is unspecified, with sets in order and with
// numbers in one spelling: DynamoDB Local keeps those in documents as they came.
func normalizeValue(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, inner := range v {
			if unspecified[name] && !isAttribute(inner) {
				continue
			}
			out[name] = normalizeValue(inner)
			switch name {
			case "N":
				out[name] = normalizeNumber(inner)
			case "NS":
				all, _ := inner.(list)
				one := make(list, len(all))
				for i := range all {
					one[i] = normalizeNumber(all[i])
				}
				sortTexts(one)
				out[name] = one
			case "SS", "BS", "NonKeyAttributes":
				sortTexts(out[name])
			}
		}
		return out
	case list:
		out := make(list, len(v))
		for i := range v {
			out[i] = normalizeValue(v[i])
		}
		return out
	}
	return v
}

// isAttribute tells an item's attribute from a member of the API.
func isAttribute(v any) bool {
	o, ok := v.(object)
	if !ok || len(o) != 1 {
		return false
	}
	for name := range o {
		return len(name) <= 4 && strings.ToUpper(name) == name
	}
	return false
}

// sortTexts puts a list in the order of its members' texts.
func sortTexts(v any) {
	all, _ := v.(list)
	texts := make([]string, len(all))
	of := make(map[string]any, len(all))
	for i, one := range all {
		texts[i] = text(one)
		of[texts[i]] = one
	}
	slices.Sort(texts)
	for i, s := range texts {
		all[i] = of[s]
	}
}

// normalizeNumber writes a number in the one way that equal numbers share.
func normalizeNumber(v any) any {
	s, _ := v.(string)
	if n, ok := new(big.Rat).SetString(s); ok {
		return n.RatString()
	}
	return normalizeValue(v)
}

var normalNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)

// abnormalNumber looks for a number that is not written as the service writes it.
func abnormalNumber(v any) string {
	switch v := v.(type) {
	case object:
		for name, inner := range v {
			if s, ok := inner.(string); ok && name == "N" && !normalNumber.MatchString(s) {
				return "the spelling of " + s
			}
			all, ok := inner.(list)
			for _, member := range all {
				if s, is := member.(string); ok && is && name == "NS" && !normalNumber.MatchString(s) {
					return "the spelling of " + s
				}
			}
			if found := abnormalNumber(inner); found != "" {
				return found
			}
		}
	case list:
		for _, inner := range v {
			if found := abnormalNumber(inner); found != "" {
				return found
			}
		}
	}
	return ""
}
