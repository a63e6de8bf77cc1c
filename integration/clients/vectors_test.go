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

// TestVectorSearch has aws-sdk-go-v2 make a table with a vector index in the embedded
// store, and search it.
func TestVectorSearch(t *testing.T) {
	kasoku := harness.Start(t, harness.Options{Origin: "embedded:./data", Service: []string{"auth: {mode: none}"}})
	db := dynamodb.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""), BaseEndpoint: aws.String(kasoku.URL),
	})
	created, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("music"), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("genre"), AttributeType: types.ScalarAttributeTypeS},
		},
		VectorIndexes: []types.VectorIndex{{
			IndexName: aws.String("sound"), VectorAttribute: &types.VectorAttributeDefinition{AttributeName: aws.String("vector")},
			Dimensions: aws.Int64(2), DistanceFunction: types.VectorDistanceFunctionEuclidean,
			Projection:   &types.Projection{ProjectionType: types.ProjectionTypeAll},
			SearchSchema: []types.SearchSchemaElement{{AttributeName: aws.String("genre"), SearchSchemaElementType: types.SearchSchemaElementTypeInlineFilter}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if x := created.TableDescription.VectorIndexes; len(x) != 1 || aws.ToInt64(x[0].Dimensions) != 2 || x[0].IndexStatus != types.IndexStatusCreating {
		t.Errorf("described as %+v", x)
	}
	vector := func(numbers ...string) (list []types.AttributeValue) {
		for _, n := range numbers {
			list = append(list, &types.AttributeValueMemberN{Value: n})
		}
		return list
	}
	for id, v := range map[string][]types.AttributeValue{"near": vector("1", "0"), "far": vector("4", "4")} {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("music"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: id}, "genre": &types.AttributeValueMemberS{Value: "pop"}, "vector": &types.AttributeValueMemberL{Value: v},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	search := &dynamodb.SearchVectorsInput{
		TableName: aws.String("music"), IndexName: aws.String("sound"), SearchVector: vector("1", "0"), TopK: aws.Int32(2),
		SearchConditionExpression: aws.String("genre = :g"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":g": &types.AttributeValueMemberS{Value: "pop"}},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	found, err := db.SearchVectors(t.Context(), search)
	if err != nil {
		t.Fatal(err)
	}
	if r := found.SearchResults; len(r) != 2 || r[0].Score != 0 || r[1].Score != 5 ||
		r[0].Item["id"].(*types.AttributeValueMemberS).Value != "near" || aws.ToFloat64(found.ConsumedCapacity.VectorSearchRequestBytes) != 1024 {
		t.Errorf("found %+v, %+v", r, found.ConsumedCapacity)
	}
	search.SearchVector = vector("1")
	_, err = db.SearchVectors(t.Context(), search)
	var refused smithy.APIError
	if !errors.As(err, &refused) || refused.ErrorMessage() != "Input search vector dimension 1 does not match vector index dimension 2" {
		t.Errorf("a vector of one dimension: %v", err)
	}
}
