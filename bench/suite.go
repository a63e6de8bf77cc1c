package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/internal/kasokutest"
)

const (
	suiteScenario = "50 tests in parallel"
	nameForks     = "kasokutest, forks"

	suiteTests    = 50
	suiteItems    = 25
	suiteRequests = 2 + 3*suiteItems + 1 // of a test: tables, items, a query
)

// suiteTarget is a store that a suite of tests uses.
type suiteTarget struct {
	name string
	cpu  func() (time.Duration, error) // of the store's process; nil if that is this one
	test func(ctx context.Context, name string) error
}

// compareSuites reports how long a suite of tests takes: 50 at once, each with a table of its own.
// The tests use the AWS SDK. Those of kasokutest fork a store with the table; those of the others
// create the table and delete it.
func (l *lab) compareSuites() error {
	progress("%s", suiteScenario)
	targets, err := l.suiteTargets()
	if err != nil {
		return err
	}
	forks, closeForks, err := forkTarget(l.ctx)
	if err != nil {
		return err
	}
	defer closeForks()
	targets = append(targets, forks)
	samples := make([][]sample, len(targets))
	for round := range l.plan.rounds + 1 { // the first warms up
		for i, t := range targets {
			s, err := runSuite(l.ctx, t, round)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	for i, t := range targets {
		l.report.add(suiteScenario, t.name, targets[0].name, samples[i], samples[0], "the time of the suite is in the column p50")
	}
	return nil
}

// suiteTargets starts the stores that are processes, Kasoku first.
func (l *lab) suiteTargets() ([]suiteTarget, error) {
	p, err := l.startMemory(l.kasoku)
	if err != nil {
		return nil, err
	}
	targets := []suiteTarget{{nameKasoku, p.CPU, overHTTP(p.Addr)}}
	if dynoxide, err := exec.LookPath("dynoxide"); err == nil {
		p, err := l.startDynoxide(dynoxide)
		if err != nil {
			return nil, err
		}
		targets = append(targets, suiteTarget{nameDynoxide, p.CPU, overHTTP(p.Addr)})
	}
	p, err = l.launchDynamo("256m")
	if errors.Is(err, errNoDynamo) {
		l.report.note("%s: %v", suiteScenario, err)
		return targets, nil
	}
	if err != nil {
		return nil, err
	}
	return append(targets, suiteTarget{nameDynamo, p.CPU, overHTTP(p.Addr)}), nil
}

// overHTTP returns a test that uses the store at an address, with connections of its own.
func overHTTP(addr string) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		client := awshttp.NewBuildableClient()
		defer func() { client.GetTransport().CloseIdleConnections() }()
		db := dynamodb.NewFromConfig(aws.Config{
			Region: dataset.Region, BaseEndpoint: aws.String("http://" + addr), HTTPClient: client,
			Credentials: credentials.NewStaticCredentialsProvider(dataset.AccessKey, dataset.SecretKey, ""),
		})
		if err := createSuiteTable(ctx, db, name); err != nil {
			return err
		}
		if err := testItems(ctx, db, name); err != nil {
			return err
		}
		_, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		return err
	}
}

// forkTarget makes a store with a table in this process, whose forks the tests use.
func forkTarget(ctx context.Context) (t suiteTarget, closeStore func(), err error) {
	const table = "suite"
	seeded, err := kasokutest.New()
	if err != nil {
		return t, nil, err
	}
	if err := createSuiteTable(ctx, seeded.Client(), table); err != nil {
		seeded.Close()
		return t, nil, err
	}
	test := func(ctx context.Context, _ string) (err error) {
		var s suiteTest
		defer s.end(&err)
		return testItems(ctx, seeded.Fork(&s).Client(), table)
	}
	return suiteTarget{name: nameForks, test: test}, seeded.Close, nil
}

// suiteTest is the kasokutest.TB of a test.
type suiteTest struct{ cleanups []func() }

// failed is what Fatalf panics with.
type failed struct{ error }

func (s *suiteTest) Helper()                           {}
func (s *suiteTest) Cleanup(f func())                  { s.cleanups = append(s.cleanups, f) }
func (s *suiteTest) Fatalf(format string, args ...any) { panic(failed{fmt.Errorf(format, args...)}) }

// end runs the clean-up, and makes the panic of Fatalf an error.
func (s *suiteTest) end(err *error) {
	for _, f := range s.cleanups {
		f()
	}
	if p := recover(); p != nil {
		f, ok := p.(failed)
		if !ok {
			panic(p)
		}
		*err = f.error
	}
}

func createSuiteTable(ctx context.Context, db *dynamodb.Client, name string) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	})
	return err
}

// testItems puts, reads and updates items of a partition, and then queries it.
func testItems(ctx context.Context, db *dynamodb.Client, table string) error {
	partition := &types.AttributeValueMemberS{Value: "orders"}
	for i := range suiteItems {
		sort := &types.AttributeValueMemberN{Value: fmt.Sprint(i)}
		key := map[string]types.AttributeValue{"pk": partition, "sk": sort}
		item := map[string]types.AttributeValue{"pk": partition, "sk": sort, "note": &types.AttributeValueMemberS{Value: "to be packed"}}
		if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			return err
		}
		got, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return err
		}
		if len(got.Item) != len(item) {
			return fmt.Errorf("item %d has %d attributes; want %d", i, len(got.Item), len(item))
		}
		_, err = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: aws.String("ADD packed :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		})
		if err != nil {
			return err
		}
	}
	all, err := db.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("pk = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": partition},
	})
	if err != nil {
		return err
	}
	if len(all.Items) != suiteItems {
		return fmt.Errorf("the query returned %d items; want %d", len(all.Items), suiteItems)
	}
	return nil
}

// runSuite runs all tests at once.
func runSuite(ctx context.Context, t suiteTarget, round int) (s sample, err error) {
	before := t.spent()
	begun := time.Now()
	errs := make([]error, suiteTests)
	var tests sync.WaitGroup
	for i := range errs {
		tests.Go(func() { errs[i] = t.test(ctx, fmt.Sprintf("suite-%d-%d", round, i)) })
	}
	tests.Wait()
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	took := time.Since(begun)
	s[p50] = float64(took)
	s[throughput] = suiteTests * suiteRequests / took.Seconds()
	s[cpu] = float64(t.spent()-before) / (suiteTests * suiteRequests)
	return s, nil
}

// spent returns the CPU time of the store's process, or 0 if that is this one or can't be measured.
func (t *suiteTarget) spent() time.Duration {
	if t.cpu == nil {
		return 0
	}
	spent, _ := t.cpu()
	return spent
}
