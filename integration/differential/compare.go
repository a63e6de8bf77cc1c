package differential

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// compare returns the difference between two answers to one request, as far as the API
// defines them; "" if there is none.
func (t tables) compare(r request, a, b answer) string {
	if a.status != b.status || a.fault != b.fault {
		return "status or type of error"
	}
	if body, ok := r.body.(object); ok && r.operation == "Scan" && body["ExclusiveStartKey"] != nil {
		return "" // the answer depends on the order of items, which is undefined
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

// unspecified are members whose values differ from run to run or between implementations.
// Messages are compared with the service's elsewhere.
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

// tables are the tables of a scene.
type tables []*table

func (t tables) named(name any) *table {
	for _, one := range t {
		if one.name == name {
			return one
		}
	}
	return nil
}

// normalize removes from a body everything that may differ.
func (t tables) normalize(r request, body any) any {
	out := normalizeValue(body)
	o, ok := out.(object)
	if !ok {
		return out
	}
	req, _ := r.body.(object)
	switch r.operation {
	case "Scan", "ExecuteStatement":
		sortTexts(o["Items"])
	case "ListTables":
		all, _ := o["TableNames"].(list)
		o["TableNames"] = slices.DeleteFunc(all, others)
	case "ListStreams":
		sortTexts(o["Streams"])
		if req["TableName"] == nil { // other rounds' tables fill pages
			delete(o, "Streams")
		}
	case "Query":
		if req["IndexName"] != nil {
			o["order"] = t.order(req, o["Items"])
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

// others reports whether a name belongs to another round.
func others(listed any) bool { return !strings.Contains(text(listed), side) }

// hideStates removes from the answer to a change the states of a table and its indexes,
// since DynamoDB Local has usually completed the change when it answers, and the members
// that only DynamoDB Local returns for a deleted table.
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

// order returns the defined part of the order in a query of an index: the values of its sort
// key. Items with the same value may be in any order, and projected items lack the
// attribute.
func (t tables) order(req object, items any) any {
	of := t.named(req["TableName"])
	if of == nil {
		return nil
	}
	values := list{}
	for _, x := range of.indexes() {
		if x.name != req["IndexName"] || x.sort == nil {
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

// normalizeValue copies a body without unspecified members, with sorted sets and normalized
// numbers: DynamoDB Local keeps the spelling of numbers in documents.
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

// isAttribute reports whether a value is an item's attribute and not a member of the API.
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

// sortTexts sorts a list by the JSON text of its elements.
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

// normalizeNumber returns the same text for equal numbers.
func normalizeNumber(v any) any {
	s, _ := v.(string)
	if n, ok := new(big.Rat).SetString(s); ok {
		return n.RatString()
	}
	return normalizeValue(v)
}

var normalNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)

// abnormalNumber returns a number that is not written as the service writes it, "" if there
// is none.
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
