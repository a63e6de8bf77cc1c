package differential

import "fmt"

// spare is a table of a scene that is created, changed and deleted. It is not one of the
// scene's tables, whose items are compared after each write.
type spare struct {
	*table         // as last requested; it need not exist
	added  []index // global indexes that were requested since
	busy   int     // remaining number of requests about it in a row
}

// onSpare draws a request about the spare table.
func (g *generator) onSpare() request {
	if g.spare.busy == 0 {
		g.spare = spare{table: g.schema(g.spare.name), busy: 8}
		return g.maybeDamaged(g.createSpare())
	}
	g.spare.busy--
	switch g.IntN(12) {
	case 3:
		return request{operation: "DeleteTable", body: object{"TableName": g.spare.name}}
	case 4:
		return request{operation: "DescribeTable", body: object{"TableName": g.spare.name}}
	case 5, 6, 7:
		return g.maybeDamaged(request{operation: "UpdateTable", body: g.updateTable()})
	case 8:
		return g.maybeDamaged(g.timeToLive())
	case 9:
		return request{operation: "DescribeTimeToLive", body: object{"TableName": g.spare.name}}
	case 10:
		if indexes := append(g.spare.indexes(), g.spare.added...); len(indexes) > 0 {
			x := indexes[g.IntN(len(indexes))]
			return request{operation: "Scan", body: object{"TableName": g.spare.name, "IndexName": x.name}, index: &x}
		}
	}
	return request{operation: "PutItem", body: object{"TableName": g.spare.name, "Item": g.item(g.spare.table)}}
}

func (g *generator) maybeDamaged(r request) request {
	if g.oneIn(4) {
		return g.damage(r)
	}
	return r
}

func (g *generator) throughput() object {
	return object{"ReadCapacityUnits": g.pick(1, 5, 5, 10), "WriteCapacityUnits": g.pick(1, 5, 5, 10)}
}

// createSpare returns the request that creates the spare table, usually in another way than
// the scene's tables.
func (g *generator) createSpare() request {
	body := g.spare.create().body.(object)
	if g.oneIn(2) {
		body["BillingMode"] = "PROVISIONED"
		if g.oneIn(4) {
			delete(body, "BillingMode")
		}
		body["ProvisionedThroughput"] = g.throughput()
		indexes, _ := body["GlobalSecondaryIndexes"].(list)
		for _, x := range indexes {
			if !g.oneIn(8) {
				x.(object)["ProvisionedThroughput"] = g.throughput()
			}
		}
	}
	if g.oneIn(5) {
		body["DeletionProtectionEnabled"] = true
	}
	if g.oneIn(8) {
		body["TableClass"] = g.one("STANDARD", "STANDARD_INFREQUENT_ACCESS")
	}
	if g.oneIn(8) {
		body["ProvisionedThroughput"] = g.throughput()
	}
	return request{operation: "CreateTable", body: body}
}

func (g *generator) updateTable() object {
	body := object{"TableName": g.spare.name}
	switch g.IntN(9) {
	case 0:
		body["BillingMode"] = g.one("PROVISIONED", "PAY_PER_REQUEST")
		if g.oneIn(2) {
			body["ProvisionedThroughput"] = g.throughput()
		}
	case 1:
		body["ProvisionedThroughput"] = g.throughput()
	case 2, 3:
		body["StreamSpecification"] = object{"StreamEnabled": true, "StreamViewType": g.one("KEYS_ONLY", "NEW_IMAGE")}
		if g.oneIn(2) {
			body["StreamSpecification"] = object{"StreamEnabled": false}
		}
	case 4:
		body["DeletionProtectionEnabled"] = g.oneIn(3)
	case 5:
		if all := append(g.spare.globals, g.spare.added...); len(all) > 0 {
			x := all[g.IntN(len(all))]
			body["GlobalSecondaryIndexUpdates"] = list{object{"Delete": object{"IndexName": x.name}}}
			if g.oneIn(3) {
				body["GlobalSecondaryIndexUpdates"] = list{object{"Update": object{"IndexName": x.name, "ProvisionedThroughput": g.throughput()}}}
			}
		}
	default:
		g.addIndex(body)
	}
	return body
}

// addIndex requests one more global index.
func (g *generator) addIndex(body object) {
	hash := g.keyOf(g.one("p", "ki", "h"))
	x := g.index(fmt.Sprintf("added-%d", len(g.spare.added)), hash, nil)
	g.spare.added = append(g.spare.added, x)
	defined := object{}
	create := describe([]index{x}, defined)[0].(object)
	if g.oneIn(3) {
		create["ProvisionedThroughput"] = g.throughput()
	}
	for _, name := range sorted(defined) {
		body["AttributeDefinitions"] = list{object{"AttributeName": name, "AttributeType": defined[name]}}
	}
	body["GlobalSecondaryIndexUpdates"] = list{object{"Create": create}}
}

func (g *generator) timeToLive() request {
	return request{operation: "UpdateTimeToLive", body: object{
		"TableName":               g.spare.name,
		"TimeToLiveSpecification": object{"Enabled": !g.oneIn(3), "AttributeName": g.one("expires", "expires", "ends")},
	}}
}
