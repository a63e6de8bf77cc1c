package clients

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
)

// scenario runs the steps of the Go SDK and writes their answers to out.
type scenario struct {
	t       *testing.T
	ctx     context.Context
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	run     string
	out     bytes.Buffer
}

// goScenario sends requests to endpoint with an unchanged aws-sdk-go-v2. It returns the answers as
// lines of JSON, as the scripts in other languages print them.
func goScenario(t *testing.T, endpoint, run string) string {
	cfg := aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider(keyID, secret, ""),
		BaseEndpoint: aws.String(endpoint),
	}
	s := &scenario{t: t, ctx: t.Context(), run: run, db: dynamodb.NewFromConfig(cfg), streams: dynamodbstreams.NewFromConfig(cfg)}
	s.tables()
	s.items()
	s.batches()
	s.queries()
	s.transactions()
	s.partiQL()
	s.rest()
	return s.out.String()
}

// table returns the full name of one of the scenario's tables.
func (s *scenario) table(name string) *string { return aws.String("go-" + s.run + "-" + name) }

// operation is the shape that all operations of the SDK's client have.
type operation[I, O any] func(c *dynamodb.Client, ctx context.Context, in *I, options ...func(*dynamodb.Options)) (*O, error)

// call runs one operation, writes its answer or error to the output, and returns the answer.
func call[I, O any](s *scenario, step string, op operation[I, O], in *I) *O {
	s.t.Helper()
	out, err := op(s.db, s.ctx, in)
	s.write(step, out, err)
	return out
}

// read runs call three times: a cache answers at least the last one from memory.
func read[I, O any](s *scenario, step string, op operation[I, O], in *I) {
	s.t.Helper()
	for range 3 {
		call(s, step, op, in)
	}
}

func (s *scenario) write(step string, out any, err error) {
	s.t.Helper()
	answer := plain(reflect.ValueOf(out))
	if err != nil {
		var api smithy.APIError
		if !errors.As(err, &api) {
			s.t.Fatalf("%s: %v", step, err)
		}
		answer = map[string]any{"error": api.ErrorCode(), "message": api.ErrorMessage(), "details": plain(reflect.ValueOf(api))}
	}
	line, err := json.Marshal(map[string]any{"step": step, "answer": answer})
	if err != nil {
		s.t.Fatal(err)
	}
	s.out.Write(append(line, '\n'))
}

// plain converts an SDK value to JSON types, with the names of the types behind interfaces
// and without the metadata of the exchange.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return map[string]any{fmt.Sprint(v.Elem().Type()): plain(v.Elem())}
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Slice:
		return plainSlice(v)
	case reflect.Map:
		members := map[string]any{}
		for _, key := range v.MapKeys() {
			members[key.String()] = plain(v.MapIndex(key))
		}
		return members
	case reflect.Struct:
		return plainStruct(v)
	}
	return fmt.Sprint(v.Interface())
}

func plainSlice(v reflect.Value) any {
	if b, ok := v.Interface().([]byte); ok {
		return base64.StdEncoding.EncodeToString(b)
	}
	if v.IsNil() {
		return nil
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = plain(v.Index(i))
	}
	return list
}

func plainStruct(v reflect.Value) any {
	if at, ok := v.Interface().(time.Time); ok {
		return at.Format(time.RFC3339)
	}
	members := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && field.Name != "ResultMetadata" {
			members[field.Name] = plain(v.Field(i))
		}
	}
	return members
}

// The attribute values of the scenario.

type item = map[string]types.AttributeValue

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v any) types.AttributeValue    { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }

func (s *scenario) order(customer string, n int, more item) item {
	all := item{"customer": str(customer), "n": num(n)}
	for name, v := range more {
		all[name] = v
	}
	return all
}

func (s *scenario) get(step, customer string, n int, change ...func(*dynamodb.GetItemInput)) {
	s.t.Helper()
	in := &dynamodb.GetItemInput{TableName: s.table("orders"), Key: s.order(customer, n, nil)}
	for _, c := range change {
		c(in)
	}
	read(s, step, (*dynamodb.Client).GetItem, in)
}
