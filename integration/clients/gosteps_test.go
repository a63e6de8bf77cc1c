package clients

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func (s *scenario) tables() {
	hash := func(name string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: aws.String(name), KeyType: types.KeyTypeHash}}
	}
	hashAndRange := func(partition, sort string) []types.KeySchemaElement {
		return append(hash(partition), types.KeySchemaElement{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange})
	}
	attribute := func(name string, typ types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: typ}
	}
	call(s, "create", (*dynamodb.Client).CreateTable, &dynamodb.CreateTableInput{
		TableName: s.table("orders"), BillingMode: types.BillingModePayPerRequest, KeySchema: hashAndRange("customer", "n"),
		AttributeDefinitions: []types.AttributeDefinition{
			attribute("customer", types.ScalarAttributeTypeS), attribute("n", types.ScalarAttributeTypeN), attribute("state", types.ScalarAttributeTypeS)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("by-state"), KeySchema: hashAndRange("state", "n"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	call(s, "create-flags", (*dynamodb.Client).CreateTable, &dynamodb.CreateTableInput{
		TableName: s.table("flags"), BillingMode: types.BillingModePayPerRequest, KeySchema: hash("id"),
		AttributeDefinitions: []types.AttributeDefinition{attribute("id", types.ScalarAttributeTypeN)},
	})
	read(s, "describe", (*dynamodb.Client).DescribeTable, &dynamodb.DescribeTableInput{TableName: s.table("orders")})
	call(s, "list", (*dynamodb.Client).ListTables, &dynamodb.ListTablesInput{Limit: aws.Int32(2), ExclusiveStartTableName: aws.String("go-" + s.run)})
	call(s, "limits", (*dynamodb.Client).DescribeLimits, &dynamodb.DescribeLimitsInput{})
	call(s, "update-table", (*dynamodb.Client).UpdateTable, &dynamodb.UpdateTableInput{TableName: s.table("flags"),
		BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(2), WriteCapacityUnits: aws.Int64(3)}})
}

func (s *scenario) items() {
	orders := s.table("orders")
	s.get("get-nothing", "ann", 1)
	call(s, "put", (*dynamodb.Client).PutItem, &dynamodb.PutItemInput{TableName: orders, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, Item: s.order("ann", 1, item{
		"state": str("new"), "text": str("日本語 \" \\ 😀"), "number": num("1e2"), "raw": &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"yes": &types.AttributeValueMemberBOOL{Value: true}, "nothing": &types.AttributeValueMemberNULL{Value: true},
		"words": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "numbers": &types.AttributeValueMemberNS{Value: []string{"2", "10"}},
		"blobs": &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}},
		"parts": &types.AttributeValueMemberL{Value: []types.AttributeValue{num(1), &types.AttributeValueMemberM{Value: item{"deep": str("x")}}}},
	})})
	s.get("get", "ann", 1)
	s.get("get-consistent", "ann", 1, func(in *dynamodb.GetItemInput) { in.ConsistentRead = aws.Bool(true) })
	s.get("get-capacity", "ann", 1, func(in *dynamodb.GetItemInput) {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	})
	s.get("get-projection", "ann", 1, func(in *dynamodb.GetItemInput) {
		in.ProjectionExpression = aws.String("#s, parts[1].deep, words")
		in.ExpressionAttributeNames = map[string]string{"#s": "state"}
	})
	s.get("get-legacy", "ann", 1, func(in *dynamodb.GetItemInput) { in.AttributesToGet = []string{"yes", "absent"} })
	s.get("get-reserved", "ann", 1, func(in *dynamodb.GetItemInput) { in.ProjectionExpression = aws.String("state") })
	s.get("get-no-table", "ann", 1, func(in *dynamodb.GetItemInput) { in.TableName = s.table("none") })
	s.get("get-wrong-key", "ann", 1, func(in *dynamodb.GetItemInput) { delete(in.Key, "n") })
	call(s, "put-refused", (*dynamodb.Client).PutItem, &dynamodb.PutItemInput{TableName: orders, Item: s.order("ann", 1, nil),
		ConditionExpression: aws.String("attribute_not_exists(customer)"), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	s.get("get-after-refusal", "ann", 1)
	call(s, "put-legacy", (*dynamodb.Client).PutItem, &dynamodb.PutItemInput{TableName: orders, Item: s.order("ann", 1, item{"state": str("paid"), "hits": num(1)}),
		Expected: map[string]types.ExpectedAttributeValue{"state": {Value: str("new")}}, ReturnValues: types.ReturnValueAllOld})
	s.get("get-after-put", "ann", 1)
	for _, values := range types.ReturnValueNone.Values() {
		call(s, "update-"+string(values), (*dynamodb.Client).UpdateItem, &dynamodb.UpdateItemInput{TableName: orders, Key: s.order("ann", 1, nil), ReturnValues: values,
			UpdateExpression: aws.String("SET hits = hits + :one"), ExpressionAttributeValues: item{":one": num(1)}})
		s.get("get-after-update", "ann", 1)
	}
	call(s, "update-legacy", (*dynamodb.Client).UpdateItem, &dynamodb.UpdateItemInput{TableName: orders, Key: s.order("bob", 1, nil),
		AttributeUpdates: map[string]types.AttributeValueUpdate{"hits": {Action: types.AttributeActionAdd, Value: num(5)}}})
	s.get("get-after-legacy", "bob", 1)
	call(s, "delete", (*dynamodb.Client).DeleteItem, &dynamodb.DeleteItemInput{TableName: orders, Key: s.order("bob", 1, nil), ReturnValues: types.ReturnValueAllOld})
	s.get("get-deleted", "bob", 1)
}

func (s *scenario) batches() {
	orders := *s.table("orders")
	var writes []types.WriteRequest
	var keys []item
	for n := range 20 {
		state := []string{"new", "paid"}[n%2]
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: s.order("cid", n, item{"state": str(state), "filler": str(strings.Repeat("f", n))})}})
		keys = append(keys, s.order("cid", n, nil))
	}
	call(s, "batch-write", (*dynamodb.Client).BatchWriteItem, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{orders: writes}})
	ask := func(step string, consistent bool) {
		for range 3 {
			out, err := s.db.BatchGetItem(s.ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{orders: {Keys: append(keys, s.order("unknown", 1, nil)), ConsistentRead: aws.Bool(consistent)}}})
			if out != nil { // the order means nothing
				slices.SortFunc(out.Responses[orders], func(a, b item) int { return strings.Compare(fmtItem(a), fmtItem(b)) })
			}
			s.write(step, out, err)
		}
	}
	ask("batch-get", false)
	ask("batch-get-consistent", true)
	call(s, "batch-write-mixed", (*dynamodb.Client).BatchWriteItem, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{orders: {
		{DeleteRequest: &types.DeleteRequest{Key: keys[0]}}, {PutRequest: &types.PutRequest{Item: s.order("cid", 1, nil)}}}}})
	ask("batch-get-after", false)
	s.get("get-after-batch", "cid", 0)
}

func fmtItem(i item) string { return i["n"].(*types.AttributeValueMemberN).Value }

func (s *scenario) queries() {
	query := func(step string, change func(in *dynamodb.QueryInput)) {
		in := &dynamodb.QueryInput{TableName: s.table("orders"), KeyConditionExpression: aws.String("customer = :c"), ExpressionAttributeValues: item{":c": str("cid")}}
		change(in)
		read(s, step, (*dynamodb.Client).Query, in)
	}
	byState := func(state string) func(in *dynamodb.QueryInput) {
		return func(in *dynamodb.QueryInput) {
			in.IndexName, in.KeyConditionExpression = aws.String("by-state"), aws.String("#s = :c")
			in.ExpressionAttributeNames, in.ExpressionAttributeValues = map[string]string{"#s": "state"}, item{":c": str(state)}
		}
	}
	query("query", func(*dynamodb.QueryInput) {})
	query("query-consistent", func(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) })
	query("query-backward", func(in *dynamodb.QueryInput) { in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(3) })
	query("query-capacity", func(in *dynamodb.QueryInput) {
		in.ReturnConsumedCapacity, in.Select = types.ReturnConsumedCapacityIndexes, types.SelectCount
	})
	query("query-range", func(in *dynamodb.QueryInput) {
		in.KeyConditionExpression = aws.String("customer = :c AND n > :n")
		in.ExpressionAttributeValues[":n"] = num(12)
	})
	query("query-filter", func(in *dynamodb.QueryInput) {
		in.FilterExpression, in.ProjectionExpression = aws.String("size(filler) > :n"), aws.String("n, filler")
		in.ExpressionAttributeValues[":n"] = num(10)
	})
	query("query-legacy", func(in *dynamodb.QueryInput) {
		in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil
		in.KeyConditions = map[string]types.Condition{"customer": {ComparisonOperator: types.ComparisonOperatorEq, AttributeValueList: []types.AttributeValue{str("cid")}}}
	})
	query("query-index", byState("paid"))
	call(s, "update-moves", (*dynamodb.Client).UpdateItem, &dynamodb.UpdateItemInput{TableName: s.table("orders"), Key: s.order("cid", 3, nil),
		UpdateExpression: aws.String("SET #s = :s"), ExpressionAttributeNames: map[string]string{"#s": "state"}, ExpressionAttributeValues: item{":s": str("sent")}})
	query("query-index-left", byState("paid"))
	query("query-index-arrived", byState("sent"))
	query("query-after-update", func(*dynamodb.QueryInput) {})
	for range 2 {
		pages := dynamodb.NewQueryPaginator(s.db, &dynamodb.QueryInput{TableName: s.table("orders"), Limit: aws.Int32(7),
			KeyConditionExpression: aws.String("customer = :c"), ExpressionAttributeValues: item{":c": str("cid")}})
		for pages.HasMorePages() {
			out, err := pages.NextPage(s.ctx)
			s.write("query-page", out, err)
		}
	}
	read(s, "scan", (*dynamodb.Client).Scan, &dynamodb.ScanInput{TableName: s.table("orders")})
	read(s, "scan-index", (*dynamodb.Client).Scan, &dynamodb.ScanInput{TableName: s.table("orders"), IndexName: aws.String("by-state")})
	pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: s.table("orders"), Limit: aws.Int32(8)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(s.ctx)
		s.write("scan-page", out, err)
	}
}

func (s *scenario) transactions() {
	orders := s.table("orders")
	call(s, "transact-write", (*dynamodb.Client).TransactWriteItems, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: orders, Item: s.order("dan", 1, nil)}},
		{Update: &types.Update{TableName: orders, Key: s.order("dan", 2, nil), UpdateExpression: aws.String("SET hits = :n"), ExpressionAttributeValues: item{":n": num(1)}}},
		{Delete: &types.Delete{TableName: orders, Key: s.order("cid", 5, nil)}},
		{ConditionCheck: &types.ConditionCheck{TableName: orders, Key: s.order("ann", 1, nil), ConditionExpression: aws.String("hits > :n"), ExpressionAttributeValues: item{":n": num(0)}}},
	}})
	read(s, "transact-get", (*dynamodb.Client).TransactGetItems, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: orders, Key: s.order("dan", 1, nil)}}, {Get: &types.Get{TableName: orders, Key: s.order("cid", 5, nil)}}}})
	s.get("get-after-transact", "dan", 2)
	s.get("get-after-transact-delete", "cid", 5)
	call(s, "transact-cancelled", (*dynamodb.Client).TransactWriteItems, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: orders, Item: s.order("dan", 9, nil)}},
		{Put: &types.Put{TableName: orders, Item: s.order("dan", 1, nil), ConditionExpression: aws.String("attribute_exists(hits)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}}}})
	s.get("get-after-cancel", "dan", 9)
}

func (s *scenario) partiQL() {
	table := `"` + *s.table("flags") + `"`
	flag := &dynamodb.GetItemInput{TableName: s.table("flags"), Key: item{"id": num(1)}}
	statement := func(step, text string, parameters ...types.AttributeValue) {
		call(s, step, (*dynamodb.Client).ExecuteStatement, &dynamodb.ExecuteStatementInput{Statement: aws.String(text), Parameters: parameters})
		read(s, step+"-get", (*dynamodb.Client).GetItem, flag)
	}
	statement("partiql-insert", "INSERT INTO "+table+" VALUE {'id': 1, 'v': ?}", str("one"))
	statement("partiql-update", "UPDATE "+table+" SET v = 'two' WHERE id = 1")
	statement("partiql-select", "SELECT * FROM "+table+" WHERE id = 1")
	call(s, "partiql-batch", (*dynamodb.Client).BatchExecuteStatement, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
		{Statement: aws.String("UPDATE " + table + " SET v = 'three' WHERE id = 1")}}})
	read(s, "partiql-batch-get", (*dynamodb.Client).GetItem, flag)
	call(s, "partiql-transaction", (*dynamodb.Client).ExecuteTransaction, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{
		{Statement: aws.String("UPDATE " + table + " SET v = 'four' WHERE id = 1")}}})
	read(s, "partiql-transaction-get", (*dynamodb.Client).GetItem, flag)
	statement("partiql-delete", "DELETE FROM "+table+" WHERE id = 1")
}

func (s *scenario) rest() {
	call(s, "ttl-enable", (*dynamodb.Client).UpdateTimeToLive, &dynamodb.UpdateTimeToLiveInput{TableName: s.table("orders"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)}})
	call(s, "ttl-describe", (*dynamodb.Client).DescribeTimeToLive, &dynamodb.DescribeTimeToLiveInput{TableName: s.table("orders")})
	s.streamReads()
	for _, name := range []string{"orders", "flags"} {
		call(s, "drop", (*dynamodb.Client).DeleteTable, &dynamodb.DeleteTableInput{TableName: s.table(name)})
	}
	s.get("get-dropped", "ann", 1)
}

func (s *scenario) streamReads() {
	list, err := s.streams.ListStreams(s.ctx, &dynamodbstreams.ListStreamsInput{TableName: s.table("orders")})
	s.write("streams-list", list, err)
	if err != nil || len(list.Streams) == 0 {
		s.t.Fatal("the table has no stream")
	}
	arn := list.Streams[0].StreamArn
	stream, err := s.streams.DescribeStream(s.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	s.write("streams-describe", stream, err)
	if err != nil || len(stream.StreamDescription.Shards) == 0 {
		s.t.Fatal("the stream has no shard")
	}
	iterator, err := s.streams.GetShardIterator(s.ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn,
		ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	s.write("streams-iterator", iterator, err)
	if err != nil {
		s.t.Fatal(err)
	}
	records, err := s.streams.GetRecords(s.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator, Limit: aws.Int32(3)})
	s.write("streams-records", records, err)
}
