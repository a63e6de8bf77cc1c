package shape

import (
	"strings"
	"testing"
)

const (
	oneError  = "1 validation error detected: "
	notNull   = " failed to satisfy constraint: Member must not be null"
	pattern   = " failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
	enumOfRCC = " failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
	enumOfRV  = " failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
	enumOfICM = " failed to satisfy constraint: Member must satisfy enum value set: [SIZE, NONE]"
	enumOfOp  = " failed to satisfy constraint: Member must satisfy enum value set: " +
		"[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
	mapKeys = " failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 255, " +
		"Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
	mapValue = " failed to satisfy constraint: Map value must satisfy constraint: [Member must have length less than or equal to 25, " +
		"Member must have length greater than or equal to 1]"
)

func lengthRule(comparison string) string {
	return " failed to satisfy constraint: Member must have length " + comparison
}

func valueRule(comparison string) string {
	return " failed to satisfy constraint: Member must have value " + comparison
}

// invalid returns f(operation, body, want), which checks the message of a ValidationException.
func invalid(t *testing.T) func(operation, body, want string) {
	return func(operation, body, want string) {
		t.Helper()
		typ, message := refusal(t, operation, body)
		if typ != "ValidationException" || message != want {
			t.Errorf("%s %s\n got %s: %s\nwant %s", operation, body, typ, message, want)
		}
	}
}

func TestNamesOfTables(t *testing.T) {
	f := invalid(t)
	long := strings.Repeat("a", 256)

	// Operations on items.
	f("PutItem", `{"Item":{}}`, oneError+"Value null at 'tableName'"+notNull)
	f("PutItem", `{"TableName":null,"Item":{}}`, oneError+"Value null at 'tableName'"+notNull)
	f("Query", `{}`, oneError+"Value null at 'tableName'"+notNull)
	f("Scan", `{}`, oneError+"Value null at 'tableName'"+notNull)
	f("GetItem", `{"TableName":"","Key":{}}`, oneError+"Value '' at 'tableName'"+lengthRule("greater than or equal to 1"))
	f("GetItem", `{"TableName":"a;","Key":{}}`, oneError+"Value 'a;' at 'tableName'"+pattern)
	f("GetItem", `{"TableName":"`+long+`","Key":{}}`, oneError+"Value '"+long+"' at 'tableName'"+lengthRule("less than or equal to 255"))
	f("GetItem", `{"TableName":"t\u00e4","Key":{}}`, oneError+"Value 'tä' at 'tableName'"+pattern)
	for _, arn := range []string{"arn:", "arn:aws:dynamodb:eu-west-1:123456789012:table/", "arn:aws:dynamodb:eu-west-1:1234:table/a/index/i",
		"arn:aws:s3:eu-west-1:123456789012:table/abc", "arn::dynamodb:eu-west-1:123456789012:table/abc", "arn:aws:dynamodb::123456789012:table/abc",
		"arn:aws:dynamodb:eu-west-1:me:table/abc", "arn:aws:dynamodb:eu-west-1:123456789012:abc"} {
		f("GetItem", `{"TableName":"`+arn+`","Key":{}}`, oneError+"Value '"+arn+"' at 'tableName'"+pattern)
	}

	// Operations on tables.
	required := "The parameter 'TableName' is required but was not present in the request"
	bounded := "TableName must be at least 3 characters long and at most 255 characters long"
	for _, operation := range []string{"CreateTable", "UpdateTable", "DeleteTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive",
		"DescribeContinuousBackups", "UpdateContinuousBackups"} {
		f(operation, `{}`, required)
	}
	for _, operation := range []string{"UpdateTable", "DeleteTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive"} {
		f(operation, `{"TableName":""}`, bounded)
		f(operation, `{"TableName":"a;"}`, bounded)
		f(operation, `{"TableName":"`+long+`"}`, bounded)
	}
	f("DescribeTable", `{"TableName":"abc;"}`, oneError+"Value 'abc;' at 'tableName'"+pattern)
	rest := `,"AttributeDefinitions":[],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}`
	f("CreateTable", `{"TableName":"ab"`+rest, oneError+"Value 'ab' at 'tableName'"+lengthRule("greater than or equal to 3"))
	f("CreateTable", `{"TableName":"`+long+`"`+rest, oneError+"Value '"+long+"' at 'tableName'"+lengthRule("less than or equal to 255"))
	f("CreateTable", `{"TableName":"abc;"`+rest, oneError+"Value 'abc;' at 'tableName'"+pattern)
	f("ListTables", `{"ExclusiveStartTableName":"a;","Limit":500}`, "3 validation errors detected: Value 'a;' at 'exclusiveStartTableName'"+pattern+
		"; Value 'a;' at 'exclusiveStartTableName'"+lengthRule("greater than or equal to 3")+"; Value '500' at 'limit'"+valueRule("less than or equal to 100"))
	f("ListTables", `{"Limit":0}`, oneError+"Value '0' at 'limit'"+valueRule("greater than or equal to 1"))
}

func TestItemOperations(t *testing.T) {
	f := invalid(t)
	const anyRV = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
	const emptyName = oneError + "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
	f("GetItem", `{}`, "2 validation errors detected: Value null at 'key'"+notNull+"; Value null at 'tableName'"+notNull)
	f("GetItem", `{"TableName":"abc;","ReturnConsumedCapacity":"hi","AttributesToGet":[]}`,
		"4 validation errors detected: Value '[]' at 'attributesToGet'"+lengthRule("greater than or equal to 1")+
			"; Value 'hi' at 'returnConsumedCapacity'"+enumOfRCC+"; Value null at 'key'"+notNull+"; Value 'abc;' at 'tableName'"+pattern)

	f("PutItem", `{"TableName":"abc","Item":{},"ReturnValues":"INVALID","ReturnConsumedCapacity":"INVALID","ReturnItemCollectionMetrics":"INVALID"}`,
		"3 validation errors detected: Value 'INVALID' at 'returnConsumedCapacity'"+enumOfRCC+"; "+anyRV+
			"; Value 'INVALID' at 'returnItemCollectionMetrics'"+enumOfICM)
	f("PutItem", `{"TableName":"","Item":{},"ReturnValues":"INVALID"}`, emptyName)
	f("PutItem", `{"TableName":"abc;","ReturnConsumedCapacity":"hi","ReturnItemCollectionMetrics":"hi","ReturnValues":"hi"}`,
		"5 validation errors detected: Value 'hi' at 'returnValues'"+enumOfRV+"; Value 'hi' at 'returnConsumedCapacity'"+enumOfRCC+
			"; Value 'abc;' at 'tableName'"+pattern+"; Value null at 'item'"+notNull+"; Value 'hi' at 'returnItemCollectionMetrics'"+enumOfICM)
	f("PutItem", `{"TableName":"abc","Item":{},"ReturnValuesOnConditionCheckFailure":"ALL_NEW"}`,
		oneError+"Value 'ALL_NEW' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]")
	f("PutItem", `{"TableName":"abc","Item":{},"ConditionalOperator":"AN","Expected":{"a":{"ComparisonOperator":"X"}}}`,
		"2 validation errors detected: Value 'AN' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]; "+
			"Value 'X' at 'expected.a.member.comparisonOperator'"+enumOfOp)

	f("DeleteItem", `{"TableName":"abc","Key":{},"ReturnConsumedCapacity":"INVALID","ReturnValues":"INVALID"}`,
		"2 validation errors detected: Value 'INVALID' at 'returnConsumedCapacity'"+enumOfRCC+"; "+anyRV)
	f("DeleteItem", `{"TableName":"","Key":{}}`, emptyName)
	deep := `{"TableName":"abc","Key":{"p":` + strings.Repeat(`{"M":{"n":`, 63) + `{"S":"{\\\"["}` + strings.Repeat("}}", 63) + `},"ReturnValues":"INVALID"}`
	f("DeleteItem", deep, oneError+"Value 'INVALID' at 'returnValues'"+enumOfRV)

	f("UpdateItem", `{"TableName":"abc","Key":{},"ReturnConsumedCapacity":"INVALID","ReturnValues":"INVALID"}`,
		oneError+anyRV)
	f("UpdateItem", `{"TableName":"","Key":{},"ReturnConsumedCapacity":"INVALID","ReturnValues":"INVALID"}`, emptyName)
	f("UpdateItem", `{"TableName":"","ReturnConsumedCapacity":"INVALID","ReturnValues":"INVALID"}`,
		"4 validation errors detected: Value 'INVALID' at 'returnConsumedCapacity'"+enumOfRCC+
			"; Value '' at 'tableName'"+lengthRule("greater than or equal to 1")+"; Value 'INVALID' at 'returnValues'"+enumOfRV+"; Value null at 'key'"+notNull)
	f("UpdateItem", `{"TableName":"abc","ConditionalOperator":"XOR"}`, "2 validation errors detected: Value 'XOR' at 'conditionalOperator' "+
		"failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]; Value null at 'key'"+notNull)
	f("UpdateItem", `{"TableName":"abc","Key":{},"AttributeUpdates":{"a":{"Action":"SET"}}}`,
		oneError+"Value 'SET' at 'attributeUpdates.a.member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]")
}

func TestReads(t *testing.T) {
	f := invalid(t)
	enumOfSelect := " failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
	f("Query", `{"TableName":"abc","Limit":0}`, oneError+"Value at 'Limit'"+valueRule("greater than or equal to 1"))
	f("Scan", `{"TableName":"abc","Limit":0}`, oneError+"Value '0' at 'limit'"+valueRule("greater than or equal to 1"))
	f("Query", `{"TableName":"abc","Select":"INVALID_VALUE"}`, oneError+"Value 'INVALID_VALUE' at 'select'"+enumOfSelect)
	f("Query", `{"TableName":"abc","IndexName":""}`, "2 validation errors detected: Value '' at 'indexName'"+pattern+
		"; Value '' at 'indexName'"+lengthRule("greater than or equal to 3"))
	// The eleventh error is not reported.
	f("Query", `{"TableName":"abc;","ReturnConsumedCapacity":"hi","AttributesToGet":[],"IndexName":"abc;","Select":"hi","Limit":-1,
		"KeyConditions":{"a":{},"b":{"ComparisonOperator":""}},"ConditionalOperator":"AN","QueryFilter":{"a":{},"b":{"ComparisonOperator":""}}}`,
		"10 validation errors detected: Value 'hi' at 'select'"+enumOfSelect+"; Value 'abc;' at 'indexName'"+pattern+
			"; Value 'hi' at 'returnConsumedCapacity'"+enumOfRCC+"; Value null at 'queryFilter.a.member.comparisonOperator'"+notNull+
			"; Value '' at 'queryFilter.b.member.comparisonOperator'"+enumOfOp+"; Value 'abc;' at 'tableName'"+pattern+
			"; Value 'AN' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]"+
			"; Value '[]' at 'attributesToGet'"+lengthRule("greater than or equal to 1")+"; Value '-1' at 'limit'"+valueRule("greater than or equal to 1")+
			"; Value null at 'keyConditions.a.member.comparisonOperator'"+notNull)
	f("Scan", `{"TableName":"abc","Segment":-1,"TotalSegments":0}`, "2 validation errors detected: Value '0' at 'totalSegments'"+
		valueRule("greater than or equal to 1")+"; Value '-1' at 'segment'"+valueRule("greater than or equal to 0"))
	f("Scan", `{"TableName":"abc","Segment":1000000,"TotalSegments":1000001}`, "2 validation errors detected: Value '1000001' at 'totalSegments'"+
		valueRule("less than or equal to 1000000")+"; Value '1000000' at 'segment'"+valueRule("less than or equal to 999999"))
	f("Scan", `{"TableName":"abc","Limit":-99999999999999999999}`, oneError+"Value '-9223372036854775807' at 'limit'"+valueRule("greater than or equal to 1"))
}

func TestBatches(t *testing.T) {
	f := invalid(t)
	requiredGet := "The requestItems parameter is required for BatchGetItem"
	f("BatchGetItem", `{}`, requiredGet)
	emptyGet := oneError + "Value at 'RequestItems'" + lengthRule("greater than or equal to 1")
	f("BatchGetItem", `{"RequestItems":{}}`, emptyGet)
	f("BatchGetItem", `{"RequestItems":{},"ReturnConsumedCapacity":"hi"}`, emptyGet)
	keys := strings.Repeat(`{"a":{"S":"x"}},`, 101)
	f("BatchGetItem", `{"RequestItems":{"users":{"Keys":[`+keys[:len(keys)-1]+`]}}}`,
		oneError+"Value at 'RequestItems.users.member.Keys'"+lengthRule("less than or equal to 100"))
	f("BatchGetItem", `{"RequestItems":{"users":{"Keys":[]}}}`, oneError+"Value at 'RequestItems.users.member.Keys'"+lengthRule("greater than or equal to 1"))
	f("BatchGetItem", `{"RequestItems":{"users":{}}}`, oneError+"Value null at 'requestItems.users.member.keys'"+notNull)
	f("BatchGetItem", `{"RequestItems": {"bad!name": {"Keys": [{"pk": {"S": "a b"}}]}}, "ReturnConsumedCapacity": "BOGUS"}`,
		`2 validation errors detected: Value '{"bad!name":{"Keys":[{"pk":{"S":"a b"}}]}}' at 'requestItems'`+mapKeys+
			"; Value 'BOGUS' at 'returnConsumedCapacity'"+enumOfRCC)
	f("BatchGetItem", `{"RequestItems":{"a":{"Keys":[]}}}`, `2 validation errors detected: Value '{"a":{"Keys":[]}}' at 'requestItems'`+mapKeys+
		"; Value '[]' at 'requestItems.a.member.keys'"+lengthRule("greater than or equal to 1"))

	requiredWrite := "The requestItems parameter is required for BatchWriteItem"
	f("BatchWriteItem", `{}`, requiredWrite)
	f("BatchWriteItem", `{"RequestItems":{}}`, requiredWrite)
	f("BatchWriteItem", `{"RequestItems":{"users":[]}}`, oneError+"Value '{users=[]}' at 'requestItems'"+mapValue)
	f("BatchWriteItem", `{"RequestItems":{"a":[]}}`, "2 validation errors detected: Value '{a=[]}' at 'requestItems'"+mapKeys+
		"; Value '{a=[]}' at 'requestItems'"+mapValue)
	write := "WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={}))"
	f("BatchWriteItem", `{"RequestItems":{"users":[`+strings.Repeat(`{"DeleteRequest":{"Key":{}}},`, 25)+`{"DeleteRequest":{"Key":{}}}]}}`,
		oneError+"Value '{users=["+strings.Repeat(write+", ", 25)+write+"]}' at 'requestItems'"+mapValue)
	f("BatchWriteItem", `{"RequestItems":{"bad!name":[{"PutRequest":{"Item":{"a":{"S":"x"},"b":{"BOOL":"yes"},"c":{"NS":["1","2"]},
		"d":{"M":{"l":{"L":[{"NULL":true}]}}},"e":{"B":"AAE="}}}}]}}`,
		oneError+"Value '{bad!name=[WriteRequest(putRequest=PutRequest(item={a="+attributeEcho("s=x")+", b="+attributeEcho("bOOL=true")+
			", c="+attributeEcho("nS=[1, 2]")+", d="+attributeEcho("m={l="+attributeEcho("l=["+attributeEcho("nULL=true")+"]")+"}")+
			", e="+attributeEcho("b=java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]")+
			"}, workloadProfileName=null), deleteRequest=null)]}' at 'requestItems'"+mapKeys)
	f("BatchWriteItem", `{"RequestItems":{"!":[{"DeleteRequest":{"Key":{"a":{"":1,"iNT":1,"S":null}}}}]}}`,
		oneError+"Value '{!=[WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={a="+attributeEcho("")+"}))]}' at 'requestItems'"+mapKeys)
	// Enumerations are checked before maps.
	f("BatchWriteItem", `{"RequestItems":{"bad!name":[{"PutRequest":{"Item":{}}}]},"ReturnConsumedCapacity":"BOGUS","ReturnItemCollectionMetrics":"BOGUS2"}`,
		"2 validation errors detected: Value 'BOGUS' at 'returnConsumedCapacity'"+enumOfRCC+"; Value 'BOGUS2' at 'returnItemCollectionMetrics'"+enumOfICM)
	f("BatchWriteItem", `{"RequestItems":{"aa;":[{"PutRequest":{},"DeleteRequest":{}}]},"ReturnConsumedCapacity":"hi"}`,
		"4 validation errors detected: Value 'hi' at 'returnConsumedCapacity'"+enumOfRCC+
			"; Value '{aa;=[WriteRequest(putRequest=PutRequest(item=null, workloadProfileName=null), deleteRequest=DeleteRequest(key=null))]}' at 'requestItems'"+mapKeys+
			"; Value null at 'requestItems.aa;.member.1.member.putRequest.item'"+notNull+
			"; Value null at 'requestItems.aa;.member.1.member.deleteRequest.key'"+notNull)
}

// attributeEcho returns the representation in messages of an attribute value with one member.
func attributeEcho(member string) string {
	all := "AttributeValue("
	for i, m := range attributeMembers {
		if i > 0 {
			all += ", "
		}
		if label, _, _ := strings.Cut(member, "="); label == m.label {
			all += member
		} else {
			all += m.label + "=null"
		}
	}
	return all + ")"
}

// TestFaultLimit checks that at most ten errors are reported.
func TestFaultLimit(t *testing.T) {
	index := `{"IndexName":"!","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{}},`
	_, message := refusal(t, "CreateTable", `{"TableName":"abc","AttributeDefinitions":[{"AttributeName":"a"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],
		"GlobalSecondaryIndexes":[`+strings.Repeat(index, 5)+strings.TrimSuffix(index, ",")+`]}`)
	if n := strings.Count(message, "failed to satisfy"); n != 10 || !strings.HasPrefix(message, "10 validation errors detected: ") {
		t.Errorf("got %d errors in %s", n, message)
	}
}

// TestNullInside checks that a null in a list or a map counts as missing.
func TestNullInside(t *testing.T) {
	f := invalid(t)
	f("BatchGetItem", `{"RequestItems":{"abc":null}}`, oneError+"Value null at 'requestItems.abc.member'"+notNull)
	f("BatchGetItem", `{"RequestItems":{"abc":{"Keys":[{},null]}}}`, oneError+"Value null at 'requestItems.abc.member.keys.2.member'"+notNull)
	f("BatchWriteItem", `{"RequestItems":{"abc":null}}`, oneError+"Value null at 'requestItems.abc.member'"+notNull)
	f("BatchWriteItem", `{"RequestItems":{"abc":[null]}}`, oneError+"Value null at 'requestItems.abc.member.1.member'"+notNull)
	f("TransactWriteItems", `{"TransactItems":[null]}`, oneError+"Value null at 'transactItems.1.member'"+notNull)
	f("UpdateItem", `{"TableName":"abc","Key":{},"AttributeUpdates":{"a":null}}`, oneError+"Value null at 'attributeUpdates.a.member'"+notNull)
}

func TestTransactions(t *testing.T) {
	f := invalid(t)
	for _, operation := range []string{"TransactWriteItems", "TransactGetItems"} {
		f(operation, `{}`, oneError+"Value null at 'transactItems'"+notNull)
		f(operation, `{"TransactItems":[]}`, oneError+"Value '[]' at 'transactItems'"+lengthRule("greater than or equal to 1"))
	}
	get := "TransactGetItem(get=Get(key={}, tableName=abc, projectionExpression=null, expressionAttributeNames=null))"
	f("TransactGetItems", `{"TransactItems":[`+strings.Repeat(`{"Get":{"TableName":"abc","Key":{}}},`, 100)+`{"Get":{"TableName":"abc","Key":{}}}]}`,
		oneError+"Value '["+strings.Repeat(get+", ", 100)+get+"]' at 'transactItems'"+lengthRule("less than or equal to 100"))
	f("TransactGetItems", `{"TransactItems":[{}]}`, oneError+"Value null at 'transactItems.1.member.get'"+notNull)
	f("TransactGetItems", `{"TransactItems":[{"Get":{}}]}`, "2 validation errors detected: Value null at 'transactItems.1.member.get.key'"+notNull+
		"; Value null at 'transactItems.1.member.get.tableName'"+notNull)
	put := `{"Put":{"TableName":"abc","Item":{}}}`
	f("TransactWriteItems", `{"TransactItems":[`+put+`],"ReturnConsumedCapacity":"BOGUS","ReturnItemCollectionMetrics":"BOGUS2","ClientRequestToken":"`+
		strings.Repeat("x", 37)+`"}`, "3 validation errors detected: Value '"+strings.Repeat("x", 37)+"' at 'clientRequestToken'"+
		lengthRule("less than or equal to 36")+"; Value 'BOGUS' at 'returnConsumedCapacity'"+enumOfRCC+"; Value 'BOGUS2' at 'returnItemCollectionMetrics'"+enumOfICM)
	f("TransactWriteItems", `{"TransactItems":[`+put+`],"ClientRequestToken":""}`, oneError+"Value '' at 'clientRequestToken'"+lengthRule("greater than or equal to 1"))
	f("TransactWriteItems", `{"TransactItems":[`+put+`,{"Update":{"TableName":"bad!name","Key":{},"UpdateExpression":""}}]}`,
		oneError+"Value 'bad!name' at 'transactItems.2.member.update.tableName'"+pattern)
	f("TransactWriteItems", `{"TransactItems":[{"ConditionCheck":{"TableName":"abc","Key":{}}}]}`,
		oneError+"Value null at 'transactItems.1.member.conditionCheck.conditionExpression'"+notNull)
	f("TransactWriteItems", `{"TransactItems":[{"Update":{}}]}`, "3 validation errors detected: Value null at 'transactItems.1.member.update.key'"+notNull+
		"; Value null at 'transactItems.1.member.update.updateExpression'"+notNull+"; Value null at 'transactItems.1.member.update.tableName'"+notNull)
	f("TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"abc","Key":{},"ReturnValuesOnConditionCheckFailure":"X"}}]}`,
		oneError+"Value 'X' at 'transactItems.1.member.delete.returnValuesOnConditionCheckFailure' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [ALL_OLD, NONE]")
}

func TestStatements(t *testing.T) {
	f := invalid(t)
	long := strings.Repeat("s", 8193)
	f("ExecuteStatement", `{}`, oneError+"Value null at 'statement'"+notNull)
	f("ExecuteStatement", `{"Statement":""}`, oneError+"Value '' at 'statement'"+lengthRule("greater than or equal to 1"))
	f("ExecuteStatement", `{"Statement":"`+long+`"}`, oneError+"Value '"+long+"' at 'statement'"+lengthRule("less than or equal to 8192"))
	f("ExecuteStatement", `{"Statement":"x","Parameters":[],"NextToken":"","Limit":0}`,
		"3 validation errors detected: Value '[]' at 'parameters'"+lengthRule("greater than or equal to 1")+
			"; Value '' at 'nextToken'"+lengthRule("greater than or equal to 1")+"; Value '0' at 'limit'"+valueRule("greater than or equal to 1"))
	f("BatchExecuteStatement", `{"Statements":[]}`, oneError+"Value '[]' at 'statements'"+lengthRule("greater than or equal to 1"))
	f("BatchExecuteStatement", `{"Statements":[{}]}`, oneError+"Value null at 'statements.1.member.statement'"+notNull)
	f("ExecuteTransaction", `{"TransactStatements":[]}`, oneError+"Value '[]' at 'transactStatements'"+lengthRule("greater than or equal to 1"))
	statements := strings.Repeat(`{"Statement":"x"},`, 26)
	one := "BatchStatementRequest(statement=x, parameters=null, consistentRead=null, returnValuesOnConditionCheckFailure=null)"
	f("BatchExecuteStatement", `{"Statements":[`+statements[:len(statements)-1]+`]}`,
		oneError+"Value '["+strings.Repeat(one+", ", 25)+one+"]' at 'statements'"+lengthRule("less than or equal to 25"))
}

func TestTables(t *testing.T) {
	f := invalid(t)
	f("CreateTable", `{"TableName":"abc;"}`, "3 validation errors detected: Value null at 'attributeDefinitions'"+notNull+
		"; Value 'abc;' at 'tableName'"+pattern+"; Value null at 'keySchema'"+notNull)
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[],"ProvisionedThroughput":{"ReadCapacityUnits":-1,"WriteCapacityUnits":-1}}`,
		"3 validation errors detected: Value '-1' at 'provisionedThroughput.writeCapacityUnits'"+valueRule("greater than or equal to 1")+
			"; Value '-1' at 'provisionedThroughput.readCapacityUnits'"+valueRule("greater than or equal to 1")+
			"; Value '[]' at 'keySchema'"+lengthRule("greater than or equal to 1"))
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[{"KeyType":"HASH"},{"AttributeName":"a"},{"KeyType":"Woop","AttributeName":"a"}]}`,
		"4 validation errors detected: Value '[KeySchemaElement(attributeName=null, keyType=HASH), KeySchemaElement(attributeName=a, keyType=null), "+
			"KeySchemaElement(attributeName=a, keyType=Woop)]' at 'keySchema'"+lengthRule("less than or equal to 2")+
			"; Value null at 'keySchema.1.member.attributeName'"+notNull+"; Value null at 'keySchema.2.member.keyType'"+notNull+
			"; Value 'Woop' at 'keySchema.3.member.keyType' failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]")
	key := `"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]`
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"SS"},{}],`+key+`}`,
		"3 validation errors detected: Value 'SS' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [B, N, S]; Value null at 'attributeDefinitions.2.member.attributeName'"+notNull+
			"; Value null at 'attributeDefinitions.2.member.attributeType'"+notNull)
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],`+key+`,"BillingMode":"FREE"}`,
		oneError+"Value 'FREE' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")
	index := func(name string) string {
		return `[{"IndexName":"` + name + `","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]`
	}
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],`+key+`,"LocalSecondaryIndexes":`+index("aa")+`,"GlobalSecondaryIndexes":`+index("zz")+`}`,
		"2 validation errors detected: Value 'zz' at 'globalSecondaryIndexes.1.member.indexName'"+lengthRule("greater than or equal to 3")+
			"; Value 'aa' at 'localSecondaryIndexes.1.member.indexName'"+lengthRule("greater than or equal to 3"))
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],`+key+`,"GlobalSecondaryIndexes":[{}],"StreamSpecification":{"StreamViewType":"ALL"}}`,
		"5 validation errors detected: Value null at 'globalSecondaryIndexes.1.member.projection'"+notNull+
			"; Value null at 'globalSecondaryIndexes.1.member.indexName'"+notNull+"; Value null at 'globalSecondaryIndexes.1.member.keySchema'"+notNull+
			"; Value null at 'streamSpecification.streamEnabled'"+notNull+"; Value 'ALL' at 'streamSpecification.streamViewType' "+
			"failed to satisfy constraint: Member must satisfy enum value set: [NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]")
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],`+key+`,"LocalSecondaryIndexes":[{"IndexName":"abc","KeySchema":[],
		"Projection":{"ProjectionType":"SOME","NonKeyAttributes":[]}}]}`,
		"3 validation errors detected: Value 'SOME' at 'localSecondaryIndexes.1.member.projection.projectionType' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]; Value '[]' at 'localSecondaryIndexes.1.member.projection.nonKeyAttributes'"+
			lengthRule("greater than or equal to 1")+"; Value '[]' at 'localSecondaryIndexes.1.member.keySchema'"+lengthRule("greater than or equal to 1"))
	f("UpdateTable", `{"TableName":"abc","ProvisionedThroughput":{}}`, "2 validation errors detected: "+
		"Value null at 'provisionedThroughput.writeCapacityUnits'"+notNull+"; Value null at 'provisionedThroughput.readCapacityUnits'"+notNull)
	f("UpdateTable", `{"TableName":"abc","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"a","ProvisionedThroughput":{}}},
		{"Update":{"IndexName":"abc;","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":0}}},{"Delete":{}}]}`,
		"6 validation errors detected: Value 'a' at 'globalSecondaryIndexUpdates.1.member.update.indexName'"+lengthRule("greater than or equal to 3")+
			"; Value null at 'globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.writeCapacityUnits'"+notNull+
			"; Value null at 'globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.readCapacityUnits'"+notNull+
			"; Value 'abc;' at 'globalSecondaryIndexUpdates.2.member.update.indexName'"+pattern+
			"; Value '0' at 'globalSecondaryIndexUpdates.2.member.update.provisionedThroughput.writeCapacityUnits'"+valueRule("greater than or equal to 1")+
			"; Value null at 'globalSecondaryIndexUpdates.3.member.delete.indexName'"+notNull)
	f("UpdateTimeToLive", `{"TableName":"abc","TimeToLiveSpecification":{}}`, "2 validation errors detected: "+
		"Value null at 'timeToLiveSpecification.attributeName'"+notNull+"; Value null at 'timeToLiveSpecification.enabled'"+notNull)
	f("UpdateTimeToLive", `{"TableName":"abc","TimeToLiveSpecification":{"AttributeName":"","Enabled":true}}`,
		oneError+"Value '' at 'timeToLiveSpecification.attributeName'"+lengthRule("greater than or equal to 1"))
	f("UpdateTimeToLive", `{"TableName":"abc","TimeToLiveSpecification":{"AttributeName":""}}`,
		"2 validation errors detected: Value '' at 'timeToLiveSpecification.attributeName'"+lengthRule("greater than or equal to 1")+
			"; Value null at 'timeToLiveSpecification.enabled'"+notNull)
	f("DescribeTimeToLive", `{"TableName":"abc","TableName":null}`, "The parameter 'TableName' is required but was not present in the request")
	f("UpdateTimeToLive", `{"TableName":"abc"}`, oneError+"Value null at 'timeToLiveSpecification'"+notNull)
	f("UpdateContinuousBackups", `{"TableName":"abc"}`, oneError+"Value null at 'pointInTimeRecoverySpecification'"+notNull)
	f("TagResource", `{"Tags":[]}`, oneError+"Value null at 'resourceArn'"+notNull)
	f("CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"SSESpecification":{"KMSMasterKeyId":""}}`,
		oneError+"Value '' at 'sSESpecification.kMSMasterKeyId'"+lengthRule("greater than or equal to 1"))
	const bounded = " must be at least 3 characters long and at most 255 characters long"
	f("DescribeGlobalTable", `{"GlobalTableName":""}`, "TableName"+bounded)
	f("RestoreTableFromBackup", `{"TargetTableName":"ab","BackupArn":""}`, "TableName"+bounded)
	f("DescribeContributorInsights", `{"TableName":"abc","IndexName":""}`, "IndexName"+bounded)
	f("UpdateContributorInsights", `{"TableName":"abc","ContributorInsightsAction":"","ContributorInsightsMode":""}`,
		"2 validation errors detected: Value '' at 'contributorInsightsAction' failed to satisfy constraint: Member must satisfy enum value set: [ENABLE, DISABLE]; "+
			"Value '' at 'contributorInsightsMode' failed to satisfy constraint: Member must satisfy enum value set: [THROTTLED_KEYS, ACCESSED_AND_THROTTLED_KEYS]")
	f("UntagResource", `{"ResourceArn":"x"}`, oneError+"Value null at 'tagKeys'"+notNull)
	f("ListTagsOfResource", `{}`, oneError+"Value null at 'resourceArn'"+notNull)
}

func TestStreams(t *testing.T) {
	f := invalid(t)
	f("ListStreams", `{"Limit":101}`, oneError+"Value '101' at 'limit'"+valueRule("less than or equal to 100"))
	f("ListStreams", `{"ExclusiveStartStreamArn":"x"}`, oneError+"Value 'x' at 'exclusiveStartStreamArn'"+lengthRule("greater than or equal to 37"))
	f("DescribeStream", `{}`, oneError+"Value null at 'streamArn'"+notNull)
	arn := strings.Repeat("a", 37)
	f("DescribeStream", `{"StreamArn":"`+arn+`","ShardFilter":{}}`, "2 validation errors detected: Value null at 'shardFilter.type'"+notNull+
		"; Value null at 'shardFilter.shardId'"+notNull)
	f("DescribeStream", `{"StreamArn":"`+arn+`","ShardFilter":{"Type":"ALL","ShardId":"`+strings.Repeat("s", 28)+`"}}`,
		oneError+"Value 'ALL' at 'shardFilter.type' failed to satisfy constraint: Member must satisfy enum value set: [CHILD_SHARDS]")
	f("GetShardIterator", `{}`, "3 validation errors detected: Value null at 'shardId'"+notNull+"; Value null at 'shardIteratorType'"+notNull+
		"; Value null at 'streamArn'"+notNull)
	f("GetShardIterator", `{"StreamArn":"`+arn+`","ShardId":"`+strings.Repeat("s", 28)+`","ShardIteratorType":"dog","SequenceNumber":"1"}`,
		"2 validation errors detected: Value 'dog' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: "+
			"[TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER]; Value '1' at 'sequenceNumber'"+lengthRule("greater than or equal to 21"))
	f("GetRecords", `{}`, oneError+"Value null at 'shardIterator'"+notNull)
	f("GetRecords", `{"ShardIterator":"","Limit":1001}`, "2 validation errors detected: Value '' at 'shardIterator'"+lengthRule("greater than or equal to 1")+
		"; Value '1001' at 'limit'"+valueRule("less than or equal to 1000"))
}
