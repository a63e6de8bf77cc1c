package shape

// Requests that hold several others. A statement's text and an action's table
// are bounded as they are alone.

// batchKeys are the constraints of the names of tables in RequestItems.
var batchKeys = tableName(3)

// tables is a map with a table's name in front of each value.
func tables(elem *shape) *shape {
	return &shape{kind: mapKind, elem: elem, names: batchKeys, min: 1, max: unbounded, bound: true}
}

var batchGetItem = structure("BatchGetItemInput",
	needed("RequestItems", keysByTable()),
	member("ReturnConsumedCapacity", returnConsumedCapacity))

var batchWriteItem = structure("BatchWriteItemInput",
	member("ReturnConsumedCapacity", returnConsumedCapacity),
	member("ReturnItemCollectionMetrics", returnMetrics),
	needed("RequestItems", writesByTable()))

func keysByTable() *shape {
	s := tables(structure("KeysAndAttributes",
		muted(needed("Keys", listOf(item, 1, 100))),
		member("AttributesToGet", attributesToGet),
		member("ConsistentRead", flag),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeNames", textByName)))
	s.echoJSON = true
	return s
}

func writesByTable() *shape {
	put := structure("PutRequest", needed("Item", item))
	put.unseen = []string{"workloadProfileName"}
	s := tables(listOf(structure("WriteRequest",
		member("PutRequest", put),
		member("DeleteRequest", structure("DeleteRequest", needed("Key", item)))), 1, 25))
	s.values = true
	return s
}

var clientRequestToken = text(1, 36)

var transactWriteItems = structure("TransactWriteItemsInput",
	member("ClientRequestToken", clientRequestToken),
	member("ReturnConsumedCapacity", returnConsumedCapacity),
	member("ReturnItemCollectionMetrics", returnMetrics),
	needed("TransactItems", listOf(structure("TransactWriteItem",
		member("ConditionCheck", structure("ConditionCheck",
			needed("Key", item),
			needed("TableName", dataTable),
			needed("ConditionExpression", anyText),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
			member("ExpressionAttributeValues", item),
			member("ExpressionAttributeNames", textByName))),
		member("Put", structure("Put",
			needed("Item", item),
			needed("TableName", dataTable),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
			member("ConditionExpression", anyText),
			member("ExpressionAttributeValues", item),
			member("ExpressionAttributeNames", textByName))),
		member("Delete", structure("Delete",
			needed("Key", item),
			needed("TableName", dataTable),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
			member("ConditionExpression", anyText),
			member("ExpressionAttributeValues", item),
			member("ExpressionAttributeNames", textByName))),
		member("Update", structure("Update",
			needed("Key", item),
			needed("UpdateExpression", anyText),
			needed("TableName", dataTable),
			member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
			member("ConditionExpression", anyText),
			member("ExpressionAttributeValues", item),
			member("ExpressionAttributeNames", textByName)))), 1, 100)))

var transactGetItems = structure("TransactGetItemsInput",
	member("ReturnConsumedCapacity", returnConsumedCapacity),
	needed("TransactItems", listOf(structure("TransactGetItem",
		needed("Get", structure("Get",
			needed("Key", item),
			needed("TableName", dataTable),
			member("ProjectionExpression", anyText),
			member("ExpressionAttributeNames", textByName)))), 1, 100)))

var (
	statement  = text(1, 8192)
	parameters = listOf(attribute, 1, unbounded)
)

var executeStatement = structure("ExecuteStatementInput",
	needed("Statement", statement),
	member("Parameters", parameters),
	member("ConsistentRead", flag),
	member("NextToken", text(1, 32768)),
	member("ReturnConsumedCapacity", returnConsumedCapacity),
	member("Limit", atLeastOne),
	member("ReturnValuesOnConditionCheckFailure", returnOnFailure))

var batchExecuteStatement = structure("BatchExecuteStatementInput",
	needed("Statements", listOf(structure("BatchStatementRequest",
		needed("Statement", statement),
		member("Parameters", parameters),
		member("ConsistentRead", flag),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure)), 1, 25)),
	member("ReturnConsumedCapacity", returnConsumedCapacity))

var executeTransaction = structure("ExecuteTransactionInput",
	needed("TransactStatements", listOf(structure("ParameterizedStatement",
		needed("Statement", statement),
		member("Parameters", parameters),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure)), 1, 100)),
	member("ClientRequestToken", clientRequestToken),
	member("ReturnConsumedCapacity", returnConsumedCapacity))
