package shape

// Requests that hold several others. A statement's text and an action's table have the same
// bounds as in a request of their own.

// batchTableName constrains the names of tables in RequestItems.
var batchTableName = tableName(3)

// byTable returns the shape of a map from table names to elem.
func byTable(elem *shape) *shape {
	return &shape{kind: mapKind, elem: elem, names: batchTableName, min: 1, max: unbounded, bound: true}
}

func batchGetItem() *shape {
	return structure("BatchGetItemInput",
		required("RequestItems", keysByTable()),
		member("ReturnConsumedCapacity", returnConsumedCapacity))
}

func batchWriteItem() *shape {
	return structure("BatchWriteItemInput",
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		member("ReturnItemCollectionMetrics", returnMetrics),
		required("RequestItems", writesByTable()))
}

func keysByTable() *shape {
	s := byTable(structure("KeysAndAttributes",
		shortForm(required("Keys", listOf(item, 1, 100))),
		member("AttributesToGet", attributesToGet),
		member("ConsistentRead", flag),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeNames", textByName)))
	s.echoJSON = true
	return s
}

func writesByTable() *shape {
	put := structure("PutRequest", required("Item", item))
	put.hidden = []string{"workloadProfileName"}
	s := byTable(listOf(structure("WriteRequest",
		member("PutRequest", put),
		member("DeleteRequest", structure("DeleteRequest", required("Key", item)))), 1, 25))
	s.values = true
	return s
}

var clientRequestToken = text(1, 36)

// itemAction returns the shape of a transaction's action on an item; own are the members
// that only this action has.
func itemAction(class string, own ...field) *shape {
	return structure(class, append(own,
		required("TableName", dataTable),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
		member("ConditionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))...)
}

func transactWriteItems() *shape {
	return structure("TransactWriteItemsInput",
		member("ClientRequestToken", clientRequestToken),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		member("ReturnItemCollectionMetrics", returnMetrics),
		required("TransactItems", listOf(structure("TransactWriteItem",
			member("ConditionCheck", structure("ConditionCheck",
				required("Key", item),
				required("TableName", dataTable),
				required("ConditionExpression", anyText),
				member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
				member("ExpressionAttributeValues", item),
				member("ExpressionAttributeNames", textByName))),
			member("Put", itemAction("Put", required("Item", item))),
			member("Delete", itemAction("Delete", required("Key", item))),
			member("Update", itemAction("Update", required("Key", item), required("UpdateExpression", anyText)))), 1, 100)))
}

func transactGetItems() *shape {
	return structure("TransactGetItemsInput",
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TransactItems", listOf(structure("TransactGetItem",
			required("Get", structure("Get",
				required("Key", item),
				required("TableName", dataTable),
				member("ProjectionExpression", anyText),
				member("ExpressionAttributeNames", textByName)))), 1, 100)))
}

var (
	statement  = text(1, 8192)
	parameters = listOf(attribute, 1, unbounded)
)

func executeStatement() *shape {
	return structure("ExecuteStatementInput",
		required("Statement", statement),
		member("Parameters", parameters),
		member("ConsistentRead", flag),
		member("NextToken", text(1, 32768)),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		member("Limit", atLeastOne),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure))
}

func batchExecuteStatement() *shape {
	return structure("BatchExecuteStatementInput",
		required("Statements", listOf(structure("BatchStatementRequest",
			required("Statement", statement),
			member("Parameters", parameters),
			member("ConsistentRead", flag),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure)), 1, 25)),
		member("ReturnConsumedCapacity", returnConsumedCapacity))
}

func executeTransaction() *shape {
	return structure("ExecuteTransactionInput",
		required("TransactStatements", listOf(structure("ParameterizedStatement",
			required("Statement", statement),
			member("Parameters", parameters),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure)), 1, 100)),
		member("ClientRequestToken", clientRequestToken),
		member("ReturnConsumedCapacity", returnConsumedCapacity))
}
