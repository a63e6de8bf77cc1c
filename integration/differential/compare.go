package differential

import (
	"fmt"
	"slices"
	"strings"
)

// compare tells how two answers to one request differ in what the API
// promises; "" if they don't.
func (t tables) compare(r request, a, b answer) string {
	if a.status != b.status || a.fault != b.fault {
		return "status or type of error"
	}
	x, y := t.normal(r, a.body), t.normal(r, b.body)
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

// unspecified are members whose values differ from run to run, or that the API
// leaves open; messages are held against the service's elsewhere.
var unspecified = map[string]bool{
	"message": true, "Message": true, "__type": true,
	"ConsumedCapacity": true, "SizeEstimateRangeGB": true, "NextToken": true, "LastEvaluatedKey": true,
	"TableArn": true, "TableId": true, "IndexArn": true, "LatestStreamArn": true, "LatestStreamLabel": true,
	"CreationDateTime": true, "LastUpdateToPayPerRequestDateTime": true, "LastIncreaseDateTime": true, "LastDecreaseDateTime": true,
	"ItemCount": true, "TableSizeBytes": true, "IndexSizeBytes": true,
	"ProvisionedThroughput": true, "WarmThroughput": true, "BillingModeSummary": true, "OnDemandThroughput": true,
	"DeletionProtectionEnabled": true, "TableClassSummary": true,
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

// normal writes a body so that what may differ doesn't.
func (t tables) normal(r request, body any) any {
	out := plain(body)
	o, ok := out.(object)
	if !ok {
		return out
	}
	asked, _ := r.body.(object)
	switch r.operation {
	case "Scan", "ExecuteStatement":
		sortTexts(o["Items"])
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
				for _, name := range []string{"AttributeDefinitions", "LocalSecondaryIndexes", "GlobalSecondaryIndexes"} {
					sortTexts(d[name])
				}
			}
		}
	}
	return o
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

// plain copies a body without what is unspecified, and with sets in order.
func plain(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, inner := range v {
			if unspecified[name] && !isAttribute(inner) {
				continue
			}
			out[name] = plain(inner)
			if name == "SS" || name == "NS" || name == "BS" {
				sortTexts(out[name])
			}
		}
		return out
	case list:
		out := make(list, len(v))
		for i := range v {
			out[i] = plain(v[i])
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

func sortTexts(v any) {
	if all, ok := v.(list); ok {
		slices.SortFunc(all, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	}
}
