package clients

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/kasoku/kasoku/integration/harness"
)

// attempts returns the number of attempts of a request from the metadata of its answer.
func attempts(out *dynamodb.PutItemOutput) int {
	results, _ := retry.GetAttemptResults(out.ResultMetadata)
	return len(results.Results)
}

// TestFaults checks that the SDK's retryer recovers from the faults that the embedded store
// injects, and that it decodes the reasons in its errors.
func TestFaults(t *testing.T) {
	n := harness.Start(t, harness.Options{Origin: "embedded:./data", Service: []string{"auth:", "  mode: none"}})
	db := dynamodb.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, ""), BaseEndpoint: aws.String(n.URL),
		Retryer: func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), 1) },
	})
	faults := func(plan string) {
		t.Helper()
		if err := n.Faults(plan); err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("tab"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("p"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
		item := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "a"}}
		return db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: item}, options...)
	}
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

	// Two faults of each kind, and the third attempt succeeds.
	for _, fault := range []string{
		`"error":"ThrottlingException"`, `"error":"ProvisionedThroughputExceededException"`, `"error":"RequestLimitExceeded"`,
		`"error":"InternalServerError","executed":true`, `"error":"ServiceUnavailable"`, `"reset":true`, `"reset":true,"executed":true`,
		`"error":"TransactionInProgressException"`,
	} {
		faults(`{"rules":[{"operations":"PutItem","count":2,` + fault + `}]}`)
		if out, err := put(); err != nil {
			t.Errorf("%s: %v", fault, err)
		} else if got := attempts(out); got != 3 {
			t.Errorf("%s: got an answer at attempt %d", fault, got)
		}
	}

	// Reasons.
	for _, typ := range []string{"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"} {
		faults(`{"rules":[{"error":{"type":"` + typ + `","throttling_reasons":[{"reason":"IndexWriteAccountLimitExceeded","resource":"r"}]}}]}`)
		_, err := put(once)
		var reasons []types.ThrottlingReason
		if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
			reasons = e.ThrottlingReasons
		} else if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
			reasons = e.ThrottlingReasons
		} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
			reasons = e.ThrottlingReasons
		}
		if len(reasons) != 1 || *reasons[0].Reason != "IndexWriteAccountLimitExceeded" || *reasons[0].Resource != "r" {
			t.Errorf("%s: got %v with reasons %v", typ, err, reasons)
		}
	}
	faults(`{"rules":[{"error":{"type":"TransactionCanceledException","cancellation_reasons":["None","TransactionConflict"]}}]}`)
	key := func(p string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: p}}
	}
	_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: aws.String("tab"), Key: key("a")}}, {Delete: &types.Delete{TableName: aws.String("tab"), Key: key("b")}},
	}}, once)
	e, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(e.CancellationReasons) != 2 || *e.CancellationReasons[0].Code != "None" || *e.CancellationReasons[1].Code != "TransactionConflict" ||
		*e.CancellationReasons[1].Message != "Transaction is ongoing for the item" {
		t.Errorf("got %v", err)
	}

	// A loop over unprocessed items ends.
	faults(`{"rules":[{"operations":"BatchWriteItem","unprocessed":0.5}]}`)
	requests := map[string][]types.WriteRequest{}
	for _, p := range []string{"a", "b", "c", "d", "e"} {
		requests["tab"] = append(requests["tab"], types.WriteRequest{PutRequest: &types.PutRequest{Item: key(p)}})
	}
	rounds := 0
	for ; len(requests) > 0; rounds++ {
		out, err := db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests})
		if err != nil {
			t.Fatal(err)
		}
		requests = out.UnprocessedItems
	}
	if rounds != 4 { // 5, 3, 2 and 1 items
		t.Errorf("got %d rounds", rounds)
	}
	faults(`{}`)
	if out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("tab")}); err != nil || out.Count != 5 {
		t.Errorf("got %v, %v", out, err)
	}
}
