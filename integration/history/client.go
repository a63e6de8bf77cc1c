package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	daxclient "github.com/kasoku/kasoku/integration/dax/client"
)

// Table is the name of the table of a run.
const Table = "history"

// Index is its global secondary index.
const Index = "by-group"

// createTable is the request that creates the table.
const createTable = `{"TableName":"history","BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
"GlobalSecondaryIndexes":[{"IndexName":"by-group","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`

// conn uses the JSON protocol without an SDK, because an SDK would retry without the
// recorder's knowledge.
type conn struct {
	http       *http.Client
	url        string
	buf        bytes.Buffer
	hits       int64           // answers from a cache, by their Cache-Status
	dax        *daxclient.Conn // nil for clients that use HTTP only
	daxAnswers int64           // answers by DAX
}

func newTransport(clients int) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: clients,
		DisableCompression:  true,
	}
}

// attribute is an attribute value of one of the two types used.
type attribute struct {
	S string `json:",omitempty"`
	N json.Number
}

type stored struct {
	P attribute `json:"p"`
	S attribute `json:"s"`
	V attribute `json:"v"`
}

// number returns the number in the item, 0 for no item.
func (i *stored) number() int64 {
	if i == nil {
		return 0
	}
	n, err := i.V.N.Int64()
	if err != nil {
		return -1
	}
	return n
}

// key returns the item's key, from its partition and its position in it.
func (i *stored) key() int32 {
	var partition int32
	fmt.Sscanf(i.P.S, "p%d", &partition)
	pos, err := i.S.N.Int64()
	if err != nil {
		return -1
	}
	return partition*width + int32(pos)
}

// reply is the union of the relevant members of answers.
type reply struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
	Item    *stored
	// Attributes are those requested by ReturnValues.
	Attributes          *stored
	Items               []stored
	Responses           json.RawMessage // a map in BatchGetItem, a list in TransactGetItems
	UnprocessedKeys     map[string]struct{ Keys []stored }
	UnprocessedItems    map[string][]member
	LastEvaluatedKey    *stored
	CancellationReasons []struct {
		Code string
		Item *stored
	}
}

type member struct {
	PutRequest    *struct{ Item stored }
	DeleteRequest *struct{ Key stored }
}

// outcome is the result of a request from the client's point of view.
type outcome uint8

const (
	ok           outcome = iota
	conditional          // rejected by a condition; nothing executed
	refused              // rejected for lack of capacity; nothing executed
	unknown              // may or may not have been executed
	unacceptable         // an answer that no client may receive
)

// do sends a request and returns its outcome.
func (c *conn) do(ctx context.Context, operation, body string) (reply, outcome, error) {
	if answer, what, err, mine := c.throughDAX(ctx, operation, body); mine {
		c.daxAnswers++
		return answer, what, err
	}
	var answer reply
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return answer, unacceptable, err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	resp, err := c.http.Do(req)
	if err != nil {
		return answer, unknown, err
	}
	defer resp.Body.Close()
	if strings.Contains(resp.Header.Get("Cache-Status"), "; hit") {
		c.hits++
	}
	c.buf.Reset()
	if _, err := c.buf.ReadFrom(resp.Body); err != nil && !errors.Is(err, io.EOF) {
		return answer, unknown, err
	}
	if err := json.Unmarshal(c.buf.Bytes(), &answer); err != nil && resp.StatusCode < 500 {
		return answer, unacceptable, fmt.Errorf("%s: status %d, body %q: %w", operation, resp.StatusCode, c.buf.Bytes(), err)
	}
	if resp.StatusCode == http.StatusOK {
		return answer, ok, nil
	}
	failure := fmt.Errorf("%s %s: status %d, %s: %s", operation, body, resp.StatusCode, answer.Type, answer.Message)
	_, name, _ := strings.Cut(answer.Type, "#")
	switch name {
	case "ConditionalCheckFailedException", "TransactionCanceledException":
		return answer, conditional, failure
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return answer, refused, failure
	}
	if notExecuted(answer.Message) {
		return answer, refused, failure
	}
	if resp.StatusCode >= 500 {
		return answer, unknown, failure
	}
	return answer, unacceptable, failure
}

// notExecuted reports whether an error's message is that of a node without contact to its
// cluster, for a write that it has not sent.
func notExecuted(message string) bool { return strings.Contains(message, "The write was not executed") }

// The texts used in requests.

func keyText(key int32) string {
	return fmt.Sprintf(`{"p":{"S":"p%d"},"s":{"N":"%d"}}`, key/width, key%width)
}

func groupText(partition int32, group int8) string { return fmt.Sprintf("p%d-g%d", partition, group) }

func itemText(key int32, v int64) string {
	return fmt.Sprintf(`{"p":{"S":"p%d"},"s":{"N":"%d"},"v":{"N":"%d"},"g":{"S":"%s"},"filler":{"S":"%s"}}`,
		key/width, key%width, v, groupText(key/width, groupOf(v)), padding)
}

const padding = "the content of an item besides the number"
