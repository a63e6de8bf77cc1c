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

// Table is the name of the table that a run uses.
const Table = "history"

// Index is its global secondary index.
const Index = "by-group"

// createTable is the request that makes the table.
const createTable = `{"TableName":"history","BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
"GlobalSecondaryIndexes":[{"IndexName":"by-group","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`

// conn speaks the JSON protocol, without an SDK since an SDK would retry behind
// the recorder's back.
type conn struct {
	http *http.Client
	url  string
	buf  bytes.Buffer
	hits int64           // answers that came from a cache in between, by their Cache-Status
	dax  *daxclient.Conn // nil for clients that speak HTTP alone
	told int64           // answers by DAX
}

func newTransport(clients int) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: clients,
		DisableCompression:  true,
	}
}

// attribute is one attribute value of the two types used.
type attribute struct {
	S string `json:",omitempty"`
	N json.Number
}

type stored struct {
	P attribute `json:"p"`
	S attribute `json:"s"`
	V attribute `json:"v"`
}

// number returns the number that the item holds, 0 for no item.
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

// key returns the item's key, from its position in the partition that it says
// it is in.
func (i *stored) key() int32 {
	var partition int32
	fmt.Sscanf(i.P.S, "p%d", &partition)
	pos, err := i.S.N.Int64()
	if err != nil {
		return -1
	}
	return partition*width + int32(pos)
}

// reply is the union of the members that are looked at in answers.
type reply struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
	Item    *stored
	// Attributes is what ReturnValues asked for.
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

// outcome is what a client knows about its request after it.
type outcome uint8

const (
	ok           outcome = iota
	conditional          // refused because of a condition; nothing executed
	refused              // refused for lack of capacity; nothing executed
	unknown              // anything may have happened
	unacceptable         // an answer that no client should get
)

// do sends a request and tells what became of it.
func (c *conn) do(ctx context.Context, operation, body string) (reply, outcome, error) {
	if answer, what, err, mine := c.throughDAX(ctx, operation, body); mine {
		c.told++
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
	if resp.StatusCode >= 500 {
		return answer, unknown, failure
	}
	return answer, unacceptable, failure
}

// The texts of which requests are made.

func keyText(key int32) string {
	return fmt.Sprintf(`{"p":{"S":"p%d"},"s":{"N":"%d"}}`, key/width, key%width)
}

func groupText(partition int32, group int8) string { return fmt.Sprintf("p%d-g%d", partition, group) }

func itemText(key int32, v int64) string {
	return fmt.Sprintf(`{"p":{"S":"p%d"},"s":{"N":"%d"},"v":{"N":"%d"},"g":{"S":"%s"},"filler":{"S":"%s"}}`,
		key/width, key%width, v, groupText(key/width, groupOf(v)), padding)
}

const padding = "what an item holds besides the number that the history is about"
