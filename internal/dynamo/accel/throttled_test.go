package accel

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
)

const (
	hotPartition = "TableReadKeyRangeThroughputExceeded"
	arnT         = "arn:aws:dynamodb:us-east-1:123456789012:table/t"
)

// throttledAnswer returns an error of the service with a reason.
func throttledAnswer(typ, member, reason, resource string) string {
	return fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m","%s":[{"reason":"%s","resource":"%s"}]}`, typ, member, reason, resource)
}

// rows returns the rows of throttled requests as text.
func (f *fixture) rows() (all []string) {
	for _, r := range f.svc.keys.Throttles() {
		partition, text := f.svc.KeyText(r.Table, r.Key)
		all = append(all, fmt.Sprintf("%s %s [%s] %s %s %d", r.Table, r.Reason, partition, text, strings.TrimPrefix(r.Resource, arnT), r.Count))
	}
	slices.Sort(all)
	return all
}

func (f *fixture) expectRows(want ...string) {
	f.t.Helper()
	slices.Sort(want)
	if got := f.rows(); !slices.Equal(got, want) {
		f.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each attempt that is throttled is counted for the key of its request.
func TestThrottledRequests(t *testing.T) {
	for name, c := range map[string]struct {
		op, body string
		row      string
	}{
		"GetItem":   {"GetItem", `{"TableName":"t","Key":` + keyA + `}`, "[a] " + keyA},
		"PutItem":   {"PutItem", `{"TableName":"t","Item":{"s":{"N":"1"},"v":{"S":"x"},"p":{"S":"a"}}}`, "[a] " + keyA},
		"by an ARN": {"GetItem", `{"TableName":"` + arnT + `","Key":` + keyA + `}`, "[a] " + keyA},
		"Query":     {"Query", queryA, "[a] partition a"},
		"an index":  {"Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}}}`, "[x] partition x of index byg"},
		"Scan":      {"Scan", `{"TableName":"t"}`, "[] "},
		"a batch":   {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[` + keyA + `]}}}`, "[] "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(c *Config, _ *cache.Config) {
				countKeys(c)
				c.Origin.Retry = origin.Retry{Attempts: 3, BudgetMin: 100, Base: time.Microsecond, Cap: time.Microsecond}
			})
			f.origin.reply("GetItem", `{}`)
			f.origin.reply("BatchGetItem", `{"Responses":{"t":[]},"UnprocessedKeys":{}}`)
			f.do("GetItem", `{"TableName":"t","Key":`+keyB+`}`) // so that the table is known
			var attempts atomic.Int32
			f.origin.handler = func(op, _ string) (int, string) {
				if op != c.op || attempts.Add(1) == 3 {
					return 0, ""
				}
				return 400, throttledAnswer("ProvisionedThroughputExceededException", "ThrottlingReasons", hotPartition, arnT)
			}
			f.do(c.op, c.body)
			f.expectRows("t " + hotPartition + " " + c.row + "  2")
		})
	}
}

// The forms of errors that throttle.
func TestThrottlingErrors(t *testing.T) {
	f := newKeysFixture(t, func(*Config) {})
	answer := func(status int, body string) {
		f.origin.handler = func(op, _ string) (int, string) {
			if op == "DescribeTable" {
				return 0, ""
			}
			return status, body
		}
		f.do("PutItem", `{"TableName":"t","Item":`+keyA+`}`)
	}
	answer(400, throttledAnswer("ThrottlingException", "throttlingReasons", hotPartition, arnT))
	answer(400, `{"__type":"x#RequestLimitExceeded"}`)
	answer(503, `{"__type":"x#ThrottlingException","throttlingReasons":"none"}`)
	answer(400, `{"__type":"x#ConditionalCheckFailedException"}`)
	answer(500, `{"__type":"x#InternalServerError"}`)
	answer(400, throttledAnswer("ThrottlingException", "throttlingReasons", "IndexWriteKeyRangeThroughputExceeded", arnT+"/index/byg"))
	answer(400, throttledAnswer("ThrottlingException", "throttlingReasons", hotPartition, strings.Replace(arnT, "/t", "/u", 1)))
	f.expectRows("t "+hotPartition+" [a] "+keyA+"  1", "t RequestLimitExceeded [a] "+keyA+"  1", "t ThrottlingException [a] "+keyA+"  1",
		"t IndexWriteKeyRangeThroughputExceeded [a] "+keyA+" /index/byg 1",
		"u "+hotPartition+" []  arn:aws:dynamodb:us-east-1:123456789012:table/u 1")
}

// The throttled actions of a transaction are counted for their items.
func TestThrottledTransactions(t *testing.T) {
	f := newKeysFixture(t, func(*Config) {})
	f.origin.handler = func(op, _ string) (int, string) {
		if op == "DescribeTable" {
			return 0, ""
		}
		return 400, `{"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ThrottlingError"},{"Code":"ProvisionedThroughputExceeded"}]}`
	}
	f.do("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":`+keyA+`}},{"Delete":{"TableName":"t","Key":`+keyB+`}},{"Update":{"TableName":"u","Key":`+keyB+`}}]}`)
	f.do("ExecuteTransaction", `{"TransactStatements":[{"Statement":"DELETE FROM t WHERE p='a' AND s=1"}]}`)
	f.expectRows("t ThrottlingError [b] "+keyB+"  1", "u ProvisionedThroughputExceeded [b] "+keyB+"  1", " ThrottlingError []   1", " ProvisionedThroughputExceeded []   1")
}
