package differential

import (
	"net/http"
	"strings"
)

// departure is something that DynamoDB Local does otherwise than the service.
type departure struct {
	name, why string
	// excuses recognises it by the request and the answers that differ.
	excuses func(r request, local, kasoku answer) bool
	// changesState recognises requests after which DynamoDB Local holds other items,
	// although it answered alike.
	changesState func(r request, kasoku answer) bool
	// hides are members that are not compared.
	hides []string
}

// departures is the table of all that may differ. Each is held to what it is
// about, so that it excuses nothing else: what it says of damaged requests doesn't
// go for those that are sound.
var departures = []departure{
	{
		name:  "capacity",
		why:   "it reports none for indexes, and other sums",
		hides: []string{"ConsumedCapacity"},
	},
	{
		name:  "collections",
		why:   "it has no ItemCollectionMetrics",
		hides: []string{"ItemCollectionMetrics"},
	},
	{
		name:  "descriptions",
		why:   "they lack a table's class, what it is warm for and the throughput of an on-demand table's indexes, and have dates and maxima that were never set",
		hides: []string{"TableClassSummary", "WarmThroughput", "ProvisionedThroughput", "OnDemandThroughput"},
	},
	{
		name: "types of JSON",
		why:  "it answers 500 to, or overlooks, a member that is not of the API's type, or base64 with a bad end; the service has SerializationException",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.fault == "SerializationException" && (r.mistyped || r.damaged && badBase64(r.body))
		},
	},
	{
		name: "internal failures",
		why:  "it answers 500 to some requests that the service refuses, or executes",
		excuses: func(r request, local, kasoku answer) bool {
			return local.status == http.StatusInternalServerError && kasoku.status < http.StatusInternalServerError
		},
	},
	{
		name: "constraints",
		why:  "it overlooks some of what the API's model says of words, lengths and ranges, or has executed what it then refuses",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && kasoku.messageContains("failed to satisfy constraint")
		},
		changesState: func(r request, kasoku answer) bool {
			return r.damaged && kasoku.messageContains("failed to satisfy constraint")
		},
	},
	{
		name: "throughput",
		why:  "it overlooks that of an index of an on-demand table, one of 0, and that one is missing where the table is or its index will be provisioned",
		excuses: func(r request, local, kasoku answer) bool {
			return r.changesTable() && (kasoku.messageContains("CapacityUnits") && kasoku.fault == "ValidationException" || kasoku.messageContains("ProvisionedThroughput must be specified"))
		},
	},
	{
		name: "protection",
		why:  "an update of a table that says nothing of deletion lifts its protection from it",
		excuses: func(r request, local, kasoku answer) bool {
			body, _ := r.body.(object)
			return r.operation == "UpdateTable" && body["DeletionProtectionEnabled"] == nil && kasoku.status == http.StatusOK &&
				strings.Contains(text(local.body), `"DeletionProtectionEnabled":false`) && strings.Contains(text(kasoku.body), `"DeletionProtectionEnabled":true`)
		},
	},
	{
		name: "short names",
		why:  "a table's name has three characters or more; to the service's operations on items one will do, and no table has it",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && local.messageContains("Invalid table/index name") && kasoku.fault == "ResourceNotFoundException"
		},
	},
	{
		name: "size",
		why:  "it takes size for the name of an attribute; to the service it is reserved",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.messageContains("reserved keyword: size")
		},
	},
	{
		name: "order of checks",
		why:  "it looks for the table or at a token, or at conditions and keys, before all that the request alone, or with the schema, shows to be wrong",
		excuses: func(r request, local, kasoku answer) bool {
			switch local.fault {
			case "ResourceNotFoundException", "IdempotentParameterMismatchException":
				return kasoku.fault == "ValidationException"
			case "ConditionalCheckFailedException", "TransactionCanceledException":
				return kasoku.fault == "ValidationException" && static.MatchString(text(kasoku.body)) || local.fault == "TransactionCanceledException" && kasoku.fault == "ResourceNotFoundException"
			case "ValidationException":
				return kasoku.fault == "ResourceNotFoundException" && (r.operation == "TransactGetItems" || r.operation == "TransactWriteItems")
			}
			return false
		},
	},
	{
		name: "removals",
		why:  "an update that only removes makes an item where there is none, or misses what a path leads through; with the service it does nothing",
		excuses: func(r request, local, kasoku answer) bool {
			return r.removesNothing && (kasoku.status == http.StatusOK || kasoku.fault == "TransactionCanceledException") &&
				(local.status == http.StatusOK || local.messageContains("document path"))
		},
		changesState: func(r request, _ answer) bool { return r.removesNothing },
	},
	{
		name: "keys of indexes",
		why:  "an update may give those of local ones another type, and those of global ones in a transaction, by what it computes, or if the item has no other key of the index",
		excuses: func(r request, local, kasoku answer) bool {
			told := text(kasoku.body)
			return (r.operation == "UpdateItem" || r.operation == "TransactWriteItems") && local.status == http.StatusOK && kasoku.status == http.StatusBadRequest &&
				(strings.Contains(told, "Type mismatch for Index Key") || strings.Contains(told, "secondary index key to unsupported type"))
		},
	},
	{
		name: "attributes updated in part",
		why:  "an update returns all of them; with the service what its paths lead to",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "UpdateItem" && updatesPart(r) && local.status == http.StatusOK && kasoku.status == http.StatusOK && within(normalizeValue(kasoku.body), normalizeValue(local.body))
		},
	},
	{
		name: "nesting of values",
		why:  "it overlooks that a value of an expression is nested too deep",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.messageContains("Nesting Levels") && tooDeep(r)
		},
	},
	{
		name: "filters of scans",
		why:  "those of an index see what the index doesn't project",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "Scan" && r.index != nil && r.index.projection != "ALL" && (r.body.(object)["FilterExpression"] != nil || r.body.(object)["ScanFilter"] != nil) &&
				local.status == http.StatusOK && kasoku.status == http.StatusOK && local.member("ScannedCount") == kasoku.member("ScannedCount")
		},
	},
	{
		name: "restarted queries",
		why:  "a query of one item may have a starting key, which the service refuses; one that starts where it ends may not, though that is where a page can end",
		excuses: func(r request, local, kasoku answer) bool {
			if local.messageContains("does not match the range key predicate") {
				return kasoku.status == http.StatusOK && kasoku.member("ScannedCount") == 0.0
			}
			return r.operation == "Query" && (kasoku.messageContains("cannot be restarted") || kasoku.messageContains("exclusive start key is invalid")) && local.status == http.StatusOK && local.member("ScannedCount") == 0.0
		},
	},
	{
		name: "reasons of transactions",
		why:  "what an action can't do with its item is the request's error, or has fewer reasons than there are actions, or comes after conditions; the service looks at it first and has a reason for each",
		excuses: func(r request, local, kasoku answer) bool {
			if kasoku.reasons("ValidationError") != 1 || kasoku.reasons("None")+1 != len(kasoku.listed("CancellationReasons")) {
				return false
			}
			return local.fault == "ValidationException" || local.fault == kasoku.fault &&
				(local.reasons("ValidationError") > 0 || kasoku.notWithSchema())
		},
	},
	{
		name: "one item twice",
		why:  "it tries a transaction's conditions before it sees that two actions are on one item",
		excuses: func(r request, local, kasoku answer) bool {
			return local.fault == "TransactionCanceledException" && kasoku.messageContains("multiple operations on one item")
		},
	},
	{
		name: "one number twice",
		why:  "a transaction may have two actions on one item if they spell its key's number in two ways",
		excuses: func(r request, local, kasoku answer) bool {
			return respelled(r) && kasoku.messageContains("multiple operations on one item")
		},
	},
	{
		name: "refused batches",
		why:  "one of statements that has an item twice is refused when it has been executed",
		changesState: func(r request, kasoku answer) bool {
			return r.operation == "BatchExecuteStatement" && kasoku.messageContains("contains duplicates")
		},
	},
	{
		name: "surplus parameters",
		why:  "it overlooks parameters that a statement has no place for; the service refuses it",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && extraParameters(r) && strings.Contains(text(kasoku.body), "Number of parameters")
		},
	},
	{
		name: "bad parameters of a batch",
		why:  "it looks at the statements before the values; with the service a value that can't be is the whole batch's error",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "BatchExecuteStatement" && kasoku.fault == "ValidationException" && impossible.MatchString(text(kasoku.body)) &&
				strings.Contains(text(local.body), "well formed")
		},
	},
	{
		name: "answers of transactions",
		why:  "a transaction of writing statements is answered with no members; the service has an empty one for each",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "ExecuteTransaction" && text(local.body) == `{"Responses":[]}` && empty.MatchString(text(kasoku.body))
		},
	},
	{
		name: "items of transactions and batches",
		why:  "a read of which the projection leaves nothing has an empty item, and a statement's paths into documents give documents; with the service it has none, and the values",
		excuses: func(r request, local, kasoku answer) bool {
			return gets[r.operation] && local.status == http.StatusOK && strings.ReplaceAll(text(normalizeValue(flatten(local.body))), `{"Item":{}}`, `{}`) == text(normalizeValue(kasoku.body))
		},
	},
	{
		name: "names of duplicates",
		why:  "it calls what an INSERT finds DuplicateItem, or a ValidationError in a transaction; the service DuplicateItemException and DuplicateItem",
		excuses: func(r request, local, kasoku answer) bool {
			return local.fault == "DuplicateItem" && kasoku.fault == "DuplicateItemException" ||
				r.operation == "ExecuteTransaction" && local.fault == kasoku.fault && kasoku.reasons("DuplicateItem") > 0 &&
					local.reasons("ValidationError") == kasoku.reasons("DuplicateItem") && strings.Contains(text(local.body), "Duplicate primary key")
		},
	},
	{
		name: "tables of transactions",
		why:  "one that is not there is the request's error; with the service it cancels a transaction of statements",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "ExecuteTransaction" && local.fault == "ResourceNotFoundException" && kasoku.reasons("ResourceNotFound") > 0
		},
	},
}
