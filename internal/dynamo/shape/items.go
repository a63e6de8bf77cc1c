package shape

import "math"

// Shapes that the operations on items share. Enumerations are in the order in which messages
// list them.
var (
	dataTable = tableName(1)
	indexName = name(3, 255)

	returnConsumedCapacity = enumOf("INDEXES", "TOTAL", "NONE")
	returnMetrics          = enumOf("SIZE", "NONE")
	returnValues           = enumOf("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
	returnOnFailure        = enumOf("ALL_OLD", "NONE")
	conditionalOperator    = enumOf("OR", "AND")
	comparisonOperator     = enumOf("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE",
		"BEGINS_WITH", "GE", "CONTAINS")
	selects = enumOf("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")

	attributesToGet = listOf(anyText, 1, unbounded)
	atLeastOne      = number(integerKind, 1, math.MaxInt64)

	expected = mapOf(structure("ExpectedAttributeValue",
		member("AttributeValueList", attributes),
		member("ComparisonOperator", comparisonOperator),
		member("Exists", flag),
		member("Value", attribute)))
	conditions = mapOf(structure("Condition",
		member("AttributeValueList", attributes),
		required("ComparisonOperator", comparisonOperator)))
	attributeUpdates = mapOf(structure("AttributeValueUpdate",
		member("Action", enumOf("ADD", "PUT", "DELETE")),
		member("Value", attribute)))
)

func getItem() *shape {
	return structure("GetItemInput",
		member("AttributesToGet", attributesToGet),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("Key", item),
		required("TableName", dataTable),
		member("ConsistentRead", flag),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeNames", textByName))
}

func putItem() *shape {
	return structure("PutItemInput",
		member("ReturnValues", returnValues),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TableName", dataTable),
		required("Item", item),
		member("ConditionalOperator", conditionalOperator),
		member("Expected", expected),
		member("ReturnItemCollectionMetrics", returnMetrics),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
		member("ConditionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}

func updateItem() *shape {
	return structure("UpdateItemInput",
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TableName", dataTable),
		member("ReturnItemCollectionMetrics", returnMetrics),
		member("ReturnValues", returnValues),
		member("ConditionalOperator", conditionalOperator),
		required("Key", item),
		member("Expected", expected),
		member("AttributeUpdates", attributeUpdates),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
		member("UpdateExpression", anyText),
		member("ConditionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}

func deleteItem() *shape {
	return structure("DeleteItemInput",
		member("ReturnValues", returnValues),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TableName", dataTable),
		member("ReturnItemCollectionMetrics", returnMetrics),
		required("Key", item),
		member("ConditionalOperator", conditionalOperator),
		member("Expected", expected),
		member("ReturnValuesOnConditionCheckFailure", returnOnFailure),
		member("ConditionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}

func query() *shape {
	return structure("QueryInput",
		member("Select", selects),
		member("IndexName", indexName),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		member("QueryFilter", conditions),
		required("TableName", dataTable),
		member("ConditionalOperator", conditionalOperator),
		member("AttributesToGet", attributesToGet),
		shortForm(member("Limit", atLeastOne)),
		member("KeyConditions", conditions),
		member("ExclusiveStartKey", item),
		member("ConsistentRead", flag),
		member("ScanIndexForward", flag),
		member("KeyConditionExpression", anyText),
		member("FilterExpression", anyText),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}

func searchVectors() *shape {
	return structure("SearchVectorsInput",
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TableName", dataTable),
		shortForm(required("IndexName", indexName)),
		shortForm(required("SearchVector", listOf(attribute, 1, 4096))),
		shortForm(required("TopK", atLeastOne)),
		member("SearchConditionExpression", anyText),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}

func scan() *shape {
	return structure("ScanInput",
		member("Select", selects),
		member("IndexName", indexName),
		member("TotalSegments", number(integerKind, 1, 1000000)),
		member("ReturnConsumedCapacity", returnConsumedCapacity),
		required("TableName", dataTable),
		member("ConditionalOperator", conditionalOperator),
		member("ScanFilter", conditions),
		member("Segment", number(integerKind, 0, 999999)),
		member("Limit", atLeastOne),
		member("AttributesToGet", attributesToGet),
		member("ExclusiveStartKey", item),
		member("ConsistentRead", flag),
		member("FilterExpression", anyText),
		member("ProjectionExpression", anyText),
		member("ExpressionAttributeValues", item),
		member("ExpressionAttributeNames", textByName))
}
