package clients

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/kasoku/kasoku/integration/harness"
)

// TestKeys checks that Kasoku allows each key exactly its permissions, with errors that the
// SDK understands. A refused request never reaches the origin.
func TestKeys(t *testing.T) {
	node := harness.Start(t, harness.Options{
		Origin: harness.DynamoDBLocal(t),
		Service: []string{"auth:", "  mode: sigv4", "  keys:",
			"    - {id: OWNER, secret_env: OWNER_SECRET, tables: [\"*\"], allow: [read, write, admin]}",
			"    - {id: READER, secret_env: READER_SECRET, tables: [\"auth-*\"], allow: [read]}"},
		Env: []string{"OWNER_SECRET=owner secret", "READER_SECRET=reader secret"},
	})
	as := func(id, secret, region string) *dynamodb.Client {
		return dynamodb.NewFromConfig(aws.Config{
			Region: region, BaseEndpoint: aws.String(node.URL),
			Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		})
	}
	owner, reader := as("OWNER", "owner secret", "us-east-1"), as("READER", "reader secret", "us-east-1")
	for _, name := range []string{"auth-open", "hidden"} {
		_, err := owner.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	get := func(c *dynamodb.Client, table string) error {
		_, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: item{"id": str("1")}})
		return err
	}
	put := func(c *dynamodb.Client, table string) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item{"id": str("1")}})
		return err
	}
	// batch reads two tables, of which one may be forbidden.
	batch := func(c *dynamodb.Client) error {
		one := types.KeysAndAttributes{Keys: []item{{"id": str("1")}}}
		_, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"auth-open": one, "hidden": one}})
		return err
	}
	partiQL := func(c *dynamodb.Client, text string) error {
		_, err := c.ExecuteStatement(t.Context(), &dynamodb.ExecuteStatementInput{Statement: aws.String(text)})
		return err
	}
	drop := func(c *dynamodb.Client, table string) error {
		_, err := c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		return err
	}
	f := func(what string, err error, code string) {
		t.Helper()
		got := ""
		var api smithy.APIError
		if errors.As(err, &api) {
			got = api.ErrorCode()
		} else if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got != code {
			t.Errorf("%s: got %q (%v), expected %q", what, got, err, code)
		}
	}
	f("owner writes", put(owner, "hidden"), "")
	f("owner reads", get(owner, "hidden"), "")
	f("reader reads", get(reader, "auth-open"), "")
	f("reader reads what is cached but not for it", get(reader, "hidden"), "AccessDeniedException")
	f("reader reads both in a batch", batch(reader), "AccessDeniedException")
	f("owner reads both in a batch", batch(owner), "")
	f("reader writes", put(reader, "auth-open"), "AccessDeniedException")
	f("reader selects", partiQL(reader, `SELECT * FROM "auth-open"`), "")
	f("reader selects what is hidden", partiQL(reader, `SELECT * FROM "hidden"`), "AccessDeniedException")
	f("reader inserts", partiQL(reader, `INSERT INTO "auth-open" VALUE {'id': '2'}`), "AccessDeniedException")
	f("reader drops", drop(reader, "auth-open"), "AccessDeniedException")
	f("a wrong secret", get(as("READER", "another secret", "us-east-1"), "auth-open"), "InvalidSignatureException")
	f("an unknown key", get(as("UNKNOWN", "reader secret", "us-east-1"), "auth-open"), "UnrecognizedClientException")
	f("another region", get(as("READER", "reader secret", "eu-west-1"), "auth-open"), "InvalidSignatureException")
	f("owner drops", drop(owner, "auth-open"), "")
	f("owner drops the other", drop(owner, "hidden"), "")
}
