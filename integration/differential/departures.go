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
	// leaves recognises requests after which DynamoDB Local holds other items,
	// although it answered alike.
	leaves func(r request) bool
	// hides are members that are not compared.
	hides []string
}

// departures is the table of all that may differ. Nothing is excused that Kasoku
// refuses without cause: what a departure says of damaged requests doesn't go for
// those that are sound.
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
		name: "types of JSON",
		why:  "it answers 500 to, or overlooks, a member that is not of the API's type; the service has SerializationException",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && (local.status == http.StatusInternalServerError && kasoku.status == http.StatusBadRequest || kasoku.fault == "SerializationException")
		},
	},
	{
		name: "internal failures",
		why:  "it answers 500 to some requests that the service refuses, or executes",
		excuses: func(r request, local, kasoku answer) bool {
			return local.status == http.StatusInternalServerError && (kasoku.status == http.StatusOK || kasoku.fault == "ValidationException")
		},
	},
	{
		name: "enumerations",
		why:  "it overlooks words that the API doesn't have in some members",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && kasoku.says("Member must satisfy enum value set")
		},
	},
	{
		name: "short names",
		why:  "a table's name has three characters or more; to the service's operations on items one will do, and no table has it",
		excuses: func(r request, local, kasoku answer) bool {
			return r.damaged && local.says("Invalid table/index name") && kasoku.fault == "ResourceNotFoundException"
		},
	},
	{
		name: "size",
		why:  "it takes size for the name of an attribute; to the service it is reserved",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.says("reserved keyword: size")
		},
	},
	{
		name: "removals",
		why:  "an update that only removes makes an item where there is none, or misses what a path leads through; with the service it does nothing",
		excuses: func(r request, local, kasoku answer) bool {
			return onlyRemoves(r) && kasoku.status == http.StatusOK && (local.status == http.StatusOK || local.says("document path"))
		},
		leaves: onlyRemoves,
	},
	{
		name: "reasons of transactions",
		why:  "what an action can't do with its item is the request's error, or has no reasons; the service cancels the transaction and has them",
		excuses: func(r request, local, kasoku answer) bool {
			return (local.fault == "ValidationException" || local.fault == kasoku.fault && local.body.(object)["CancellationReasons"] == nil) &&
				kasoku.fault == "TransactionCanceledException" && strings.Contains(text(kasoku.body), `"Code":"ValidationError"`)
		},
	},
	{
		name: "nothing projected",
		why:  "a transaction's read of which the projection leaves nothing has an empty item; with the service it has none",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "TransactGetItems" && local.status == http.StatusOK &&
				strings.ReplaceAll(text(local.body), `{"Item":{}}`, `{}`) == text(kasoku.body)
		},
	},
	{
		name: "keys of local indexes",
		why:  "an update may give them another type",
		excuses: func(r request, local, kasoku answer) bool {
			return r.operation == "UpdateItem" && local.status == http.StatusOK && kasoku.says("Type mismatch for Index Key") && kasoku.says("IndexName: local-")
		},
	},
	{
		name: "order of checks",
		why:  "it looks for the table, and at conditions, before all that the request alone, or with the schema, shows to be wrong",
		excuses: func(r request, local, kasoku answer) bool {
			return kasoku.fault == "ValidationException" && (local.fault == "ResourceNotFoundException" ||
				local.fault == "ConditionalCheckFailedException" && (kasoku.says("Cannot update attribute") || kasoku.says("Type mismatch for Index Key")))
		},
	},
	{
		name: "one item twice",
		why:  "it tries a transaction's conditions before it sees that two actions are on one item",
		excuses: func(r request, local, kasoku answer) bool {
			return local.fault == "TransactionCanceledException" && kasoku.says("multiple operations on one item")
		},
	},
}

// says tells whether an error's message has some words.
func (a answer) says(words string) bool {
	o, _ := a.body.(object)
	for _, name := range []string{"message", "Message"} {
		if s, ok := o[name].(string); ok && strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// onlyRemoves recognises updates, alone or in a transaction, that set and add
// nothing.
func onlyRemoves(r request) bool {
	body, ok := r.body.(object)
	if !ok {
		return false
	}
	if r.operation != "TransactWriteItems" {
		return r.operation == "UpdateItem" && removes(body)
	}
	actions, _ := body["TransactItems"].(list)
	for _, action := range actions {
		a, _ := action.(object)
		if update, ok := a["Update"].(object); ok && removes(update) {
			return true
		}
	}
	return false
}

func removes(update object) bool {
	if s, ok := update["UpdateExpression"].(string); ok {
		s = " " + strings.ToUpper(s)
		return !strings.Contains(s, " SET ") && !strings.Contains(s, " ADD ")
	}
	updates, ok := update["AttributeUpdates"].(object)
	for _, u := range updates {
		if o, _ := u.(object); o["Action"] != "DELETE" {
			return false
		}
	}
	return ok
}
