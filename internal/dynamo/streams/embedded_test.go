package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
)

// TestEmbedded follows a stream of an embedded store, whose shards are closed soon, until it
// is disabled.
func TestEmbedded(t *testing.T) {
	store, err := embedded.Open(memory.New(), embedded.Config{StreamShards: 2, ShardLife: 300 * time.Millisecond}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	do := func(_ context.Context, target string, body []byte) ([]byte, error) {
		response, err := store.Do(&embedded.Request{Method: "POST", Path: "/", Target: []byte(target), Body: body})
		if err != nil {
			return nil, err
		}
		if response.Status != 200 {
			var fault struct {
				Type    string `json:"__type"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal(response.Body, &fault); err != nil {
				return nil, err
			}
			return nil, &Error{Type: fault.Type[strings.Index(fault.Type, "#")+1:], Message: fault.Message}
		}
		return response.Body, nil
	}
	table := func(operation, body string) []byte {
		t.Helper()
		answer, err := do(t.Context(), "DynamoDB_20120810."+operation, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	var created struct {
		TableDescription struct{ LatestStreamArn string }
	}
	if err := json.Unmarshal(table("CreateTable", `{"TableName":"items","BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"N"}],
		"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`), &created); err != nil {
		t.Fatal(err)
	}

	const items, versions = 5, 200
	var mu sync.Mutex
	last := map[int]int{}
	shards := map[string]bool{}
	fenced := make(chan struct{})
	f := New(Config{
		Call: func(ctx context.Context, operation string, body []byte) ([]byte, error) {
			return do(ctx, "DynamoDBStreams_20120810."+operation, body)
		},
		Stream:   created.TableDescription.LatestStreamArn,
		Describe: &Limiter{rate.NewLimiter(100, 10)}, // so that the test is short
		Apply: func(_ context.Context, shard string, records []Record) error {
			mu.Lock()
			defer mu.Unlock()
			shards[shard] = true
			for _, r := range records {
				item, version := itemOf(r)
				if version != last[item]+1 {
					t.Errorf("record %d of item %d follows %d", version, item, last[item])
				}
				last[item] = version
			}
			return nil
		},
		Fence: func(context.Context) error {
			close(fenced) // a second fence would be an error
			return nil
		},
	})
	result := make(chan error, 1)
	go func() { result <- f.Run(t.Context()) }()
	<-fenced
	for version := 1; version <= versions; version++ {
		for item := range items {
			table("PutItem", fmt.Sprintf(`{"TableName":"items","Item":{"pk":{"N":"%d"},"v":{"N":"%d"}}}`, item, version))
		}
	}
	table("UpdateTable", `{"TableName":"items","StreamSpecification":{"StreamEnabled":false}}`)
	if err := <-result; !errors.Is(err, ErrEnded) {
		t.Errorf("Run returned %v", err)
	}
	for item := range items {
		if last[item] != versions {
			t.Errorf("record %d of item %d was the last one applied", last[item], item)
		}
	}
	t.Logf("records of %d shards", len(shards))
}
