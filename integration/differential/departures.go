package differential

import (
	"net/http"
	"strings"
)

// departure is a difference between DynamoDB Local and the service.
type departure struct {
	name, why string
	// excuses recognises it by the request and the two answers.
	excuses func(r request, local, kasoku answer) bool
	// changesState recognises requests after which DynamoDB Local holds other items,
	// although the answers are equal.
	changesState func(r request, kasoku answer) bool
	// hides are the members that are not compared.
	hides []string
}

// departures lists all allowed differences. Each is restricted to its subject, so that it
// excuses no other difference: a departure for damaged requests does not apply to valid
// ones.
var departures = []departure{
	{
		name:  "capacity",
		why:   "it reports none for indexes, and different sums",
		hides: []string{"ConsumedCapacity"},
	},
	{
		name:  "collections",
		why:   "it has no ItemCollectionMetrics",
		hides: []string{"ItemCollectionMetrics"},
	},
	{
		name:  "descriptions",
		why:   "they lack a table's class, its warm throughput and the throughput of an on-demand table's indexes, and have dates and maxima that were never set",
		hides: []string{"TableClassSummary", "WarmThroughput", "ProvisionedThroughput", "OnDemandThroughput"},
	},
	{
		name: "types of JSON",
		why:  "it answers with status 500, or ignores, a member of the wrong type or base64 with an invalid end; the service returns SerializationException",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.fault == "SerializationException" && (r.mistyped || r.damaged && badBase64(r.body))
		},
	},
	{
		name: "internal failures",
		why:  "it answers with status 500 to some requests that the service refuses or executes",
		excuses: func(r request, local, kasoku answer) bool {
			return local.status == http.StatusInternalServerError && kasoku.status < http.StatusInternalServerError
		},
	},
	{
		name: "constraints",
		why:  "it ignores some of the API model's constraints on words, lengths and ranges, or refuses a request only after it has executed it",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && kasoku.messageContains("failed to satisfy constraint")
		},
		changesState: func(r request, kasoku answer) bool {
			return r.damaged && kasoku.messageContains("failed to satisfy constraint")
		},
	},
	{
		name: "throughput",
		why:  "it accepts the throughput of an index of an on-demand table, a throughput of 0, and a missing throughput of an index where the table is or will be provisioned",
		excuses: func(r request, local, kasoku answer) bool {
			return r.changesTable() && (kasoku.messageContains("CapacityUnits") && kasoku.fault == "ValidationException" || kasoku.messageContains("ProvisionedThroughput must be specified"))
		},
	},
	{
		name: "protection",
		why:  "an update of a table without DeletionProtectionEnabled turns the protection off",
		excuses: func(r request, local, kasoku answer) bool {
			body, _ := r.body.(object)
			return r.operation == "UpdateTable" && body["DeletionProtectionEnabled"] == nil && kasoku.status == http.StatusOK &&
				strings.Contains(text(local.body), `"DeletionProtectionEnabled":false`) && strings.Contains(text(kasoku.body), `"DeletionProtectionEnabled":true`)
		},
	},
	{
		name: "short names",
		why:  "it requires three characters in a table's name; the service's operations on items accept one, though no table has such a name",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && local.messageContains("Invalid table/index name") && kasoku.fault == "ResourceNotFoundException"
		},
	},
	{
		name: "size",
		why:  "it accepts size as the name of an attribute; in the service it is reserved",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.messageContains("reserved keyword: size")
		},
	},
	{
		name: "order of checks",
		why:  "it checks the table, a token, conditions or keys before faults that the request alone, or with the schema, shows",
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
		why:  "an update that only removes creates an item where there is none, or reports a missing parent of a path; in the service it does nothing",
		excuses: func(r request, local, kasoku answer) bool {
			return r.removesNothing && (kasoku.status == http.StatusOK || kasoku.fault == "TransactionCanceledException") &&
				(local.status == http.StatusOK || local.messageContains("document path"))
		},
		changesState: func(r request, _ answer) bool { return r.removesNothing },
	},
	{
		name: "keys of indexes",
		why:  "an update may change the type of a local index's key attributes, and in a transaction of a global index's, by a computed value or if the item has no other key attribute of the index",
		excuses: func(r request, local, kasoku answer) bool {
			body := text(kasoku.body)
			return (r.operation == "UpdateItem" || r.operation == "TransactWriteItems") && local.status == http.StatusOK && kasoku.status == http.StatusBadRequest &&
				(strings.Contains(body, "Type mismatch for Index Key") || strings.Contains(body, "secondary index key to unsupported type"))
		},
	},
	{
		name: "attributes updated in part",
		why:  "an update returns whole attributes; the service returns the values at its paths",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "UpdateItem" && updatesPart(r) && local.status == http.StatusOK && kasoku.status == http.StatusOK && within(normalizeValue(kasoku.body), normalizeValue(local.body))
		},
	},
	{
		name: "nesting of values",
		why:  "it ignores that a value of an expression is nested too deep",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.messageContains("Nesting Levels") && tooDeep(r)
		},
	},
	{
		name: "filters of scans",
		why:  "a filter of an index's scan sees attributes that the index doesn't project",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "Scan" && r.index != nil && r.index.projection != "ALL" && (r.body.(object)["FilterExpression"] != nil || r.body.(object)["ScanFilter"] != nil) &&
				local.status == http.StatusOK && kasoku.status == http.StatusOK && local.member("ScannedCount") == kasoku.member("ScannedCount")
		},
	},
	{
		name: "restarted queries",
		why:  "a query of one item may have a starting key, which the service refuses; a query may not start where it ends, though a page can end there",
		excuses: func(r request, local, kasoku answer) bool {
			if local.messageContains("does not match the range key predicate") {
				return kasoku.status == http.StatusOK && kasoku.member("ScannedCount") == 0.0
			}
			return r.operation == "Query" && (kasoku.messageContains("cannot be restarted") || kasoku.messageContains("exclusive start key is invalid")) && local.status == http.StatusOK && local.member("ScannedCount") == 0.0
		},
	},
	{
		name: "reasons of transactions",
		why:  "an action that is invalid for its item is an error of the request, or there are fewer reasons than actions, or it is reported after conditions; the service checks it first and has a reason for each action",
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
		why:  "it evaluates a transaction's conditions before it detects two actions on one item",
		excuses: func(r request, local, kasoku answer) bool {
			return local.fault == "TransactionCanceledException" && kasoku.messageContains("multiple operations on one item")
		},
	},
	{
		name: "one number twice",
		why:  "a transaction may have two actions on one item if the number in its key is spelled in two ways",
		excuses: func(r request, local, kasoku answer) bool {
			return respelled(r) && kasoku.messageContains("multiple operations on one item")
		},
	},
	{
		name: "refused batches",
		why:  "a batch with a statement that has an item twice is refused only after it has been executed",
		changesState: func(r request, kasoku answer) bool {
			return r.operation == "BatchExecuteStatement" && kasoku.messageContains("contains duplicates")
		},
	},
	{
		name: "surplus parameters",
		why:  "it ignores surplus parameters of a statement; the service refuses them",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && extraParameters(r) && strings.Contains(text(kasoku.body), "Number of parameters")
		},
	},
	{
		name: "bad parameters of a batch",
		why:  "it checks the statements before the values, of which an invalid one is an error of the whole batch; in the service a bad number, or a value that nests too deep, is an error of its statement",
		excuses: func(r request, local, kasoku answer) bool {
			if r.operation != "BatchExecuteStatement" || !impossible.MatchString(text(kasoku.body)) {
				return false
			}
			return kasoku.fault == "ValidationException" && strings.Contains(text(local.body), "well formed") ||
				kasoku.status == http.StatusOK && local.fault == "ValidationException" && impossible.MatchString(text(local.body))
		},
	},
	{
		name: "items of transactions and batches",
		why:  "a read whose projection selects nothing returns an empty item, and a statement's paths into documents return documents; the service returns no item, and the values",
		excuses: func(r request, local, kasoku answer) bool {
			return gets[r.operation] && local.status == http.StatusOK && strings.ReplaceAll(text(normalizeValue(flatten(local.body))), `{"Item":{}}`, `{}`) == text(normalizeValue(kasoku.body))
		},
	},
	{
		name: "names of duplicates",
		why:  "its error for an INSERT of an existing item is DuplicateItem, or ValidationError in a transaction; the service's are DuplicateItemException and DuplicateItem",
		excuses: func(r request, local, kasoku answer) bool {
			return local.fault == "DuplicateItem" && kasoku.fault == "DuplicateItemException" ||
				r.operation == "ExecuteTransaction" && local.fault == kasoku.fault && kasoku.reasons("DuplicateItem") > 0 &&
					local.reasons("ValidationError") == kasoku.reasons("DuplicateItem") && strings.Contains(text(local.body), "Duplicate primary key")
		},
	},
	{
		name: "tables of transactions",
		why:  "a missing table is an error of the request; in the service it cancels a transaction of statements",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "ExecuteTransaction" && local.fault == "ResourceNotFoundException" && kasoku.reasons("ResourceNotFound") > 0
		},
	},
}
