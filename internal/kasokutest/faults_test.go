package kasokutest_test

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/kasoku/kasoku/internal/kasokutest"
)

// TestFaults checks that the SDK's retries overcome throttling and lost answers, directly and
// through the network, and that an error without retries has the SDK's type.
func TestFaults(t *testing.T) {
	s := kasokutest.Start(t)
	createMusic(t, s.Client())
	endpoint, err := s.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	network := s.Config()
	network.HTTPClient, network.BaseEndpoint = nil, aws.String(endpoint)
	for name, db := range map[string]*dynamodb.Client{"direct": s.Client(), "network": dynamodb.NewFromConfig(network)} {
		t.Run(name, func(t *testing.T) {
			set := func(plan string) {
				t.Helper()
				if err := s.SetFaults(plan); err != nil {
					t.Fatal(err)
				}
			}
			set(`{"rules":[{"operations":"PutItem","count":1,"error":"ThrottlingException"},
				{"operations":"PutItem","count":1,"reset":true,"executed":true}]}`)
			put(t, db, "Perfume", name)
			if got := songOf(t, db, "Perfume"); got != name {
				t.Errorf("got the song %q", got)
			}
			set(`{"rules":[{"error":"ProvisionedThroughputExceededException"}]}`)
			_, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{}, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
			if _, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); !ok {
				t.Errorf("got %v", err)
			}
			set(`{}`)
			put(t, db, "Perfume", "Flash")
		})
	}
	if err := s.SetFaults(`{"rules":[{"eror":"x"}]}`); err == nil || !strings.Contains(err.Error(), `"error"`) {
		t.Errorf("a plan with a mistake: %v", err)
	}
	if err := s.SetFaults(`{"rules":[{"reset":true}]}`); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(endpoint); err != nil { // no operation, and so no fault
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	if _, _, err := s.Do("ListTables", []byte(`{}`)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("without the SDK: %v", err)
	}
}

// TestSplitShards splits the shards of all streams and of one table.
func TestSplitShards(t *testing.T) {
	s := kasokutest.Start(t)
	for _, table := range []string{"Music", "Books"} {
		body := `{"TableName":"` + table + `","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],
			"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`
		if status, answer, err := s.Do("CreateTable", []byte(body)); status != http.StatusOK || err != nil {
			t.Fatal(status, string(answer), err)
		}
	}
	for _, c := range []struct {
		tables []string
		want   int
	}{{nil, 2}, {[]string{"Mus*"}, 2}, {nil, 6}, {[]string{"Films"}, 0}} {
		if n, err := s.SplitShards(c.tables...); n != c.want || err != nil {
			t.Errorf("%d shards of %s were split, want %d: %v", n, c.tables, c.want, err)
		}
	}
}
