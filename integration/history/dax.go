package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	daxclient "github.com/kasoku/kasoku/integration/dax/client"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
)

// daxRequest is the union of the members of requests that are sent by DAX.
type daxRequest struct {
	Key, Item    map[string]json.RawMessage
	ReturnValues string

	ConsistentRead, ScanIndexForward                     *bool
	IndexName, ProjectionExpression, ConditionExpression string

	ExpressionAttributeValues map[string]attribute
}

// throughDAX sends a request by the DAX protocol. It supports plain reads and writes of
// single items, which use the item cache, and queries of the table. For others it returns
// false and sends nothing.
func (c *conn) throughDAX(ctx context.Context, operation, body string) (answer reply, what outcome, err error, mine bool) {
	if c.dax == nil {
		return answer, ok, nil, false
	}
	var a daxRequest
	if json.Unmarshal([]byte(body), &a) != nil || a.ProjectionExpression+a.ConditionExpression+a.IndexName != "" || a.ScanIndexForward != nil {
		return answer, ok, nil, false
	}
	consistent := a.ConsistentRead != nil && *a.ConsistentRead
	old := a.ReturnValues == "ALL_OLD"
	var item daxclient.Item
	switch operation {
	case "GetItem":
		item, err = c.dax.Get(ctx, Table, daxKey(a.Key), consistent)
		answer.Item = fromDAX(a.Key, item)
	case "PutItem":
		item, err = c.dax.Put(ctx, Table, daxKey(a.Item), daxItem(a.Item), old)
		answer.Attributes = fromDAX(a.Item, item)
	case "DeleteItem":
		item, err = c.dax.Delete(ctx, Table, daxKey(a.Key), old)
		answer.Attributes = fromDAX(a.Key, item)
	case "Query":
		err = c.partition(ctx, a.ExpressionAttributeValues[":k"].S, consistent, &answer)
	default:
		return answer, ok, nil, false
	}
	what, err = daxOutcome(operation, err)
	return answer, what, err, true
}

func (c *conn) partition(ctx context.Context, name string, consistent bool, answer *reply) error {
	entries, err := c.dax.Partition(ctx, Table, "p", name, consistent)
	for _, e := range entries {
		key := cbor.NewReader(e.Key)
		key.Text()
		s, err := number.AppendOrderedText(nil, key.Rest())
		if err != nil {
			return err
		}
		of := map[string]json.RawMessage{"p": json.RawMessage(`{"S":"` + name + `"}`), "s": json.RawMessage(`{"N":"` + string(s) + `"}`)}
		answer.Items = append(answer.Items, *fromDAX(of, e.Item))
	}
	return err
}

// daxOutcome returns the outcome that corresponds to an error.
func daxOutcome(operation string, err error) (outcome, error) {
	var reply *daxclient.Error
	switch {
	case err == nil:
		return ok, nil
	case !errors.As(err, &reply):
		return unknown, err
	}
	err = fmt.Errorf("%s by DAX: %w", operation, err)
	switch reply.Type {
	case "ConditionalCheckFailedException", "TransactionCanceledException":
		return conditional, err
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return refused, err
	}
	if notExecuted(reply.Message) {
		return refused, err
	}
	if reply.Codes[0] == 4 {
		return unacceptable, err
	}
	return unknown, err
}

// daxKey returns the key bytes of an item's key.
func daxKey(item map[string]json.RawMessage) []byte {
	var p, s attribute
	if json.Unmarshal(item["p"], &p) != nil || json.Unmarshal(item["s"], &s) != nil {
		return nil
	}
	key, err := number.AppendOrdered(cbor.AppendText(nil, p.S), []byte(s.N))
	if err != nil {
		return nil
	}
	return key
}

// daxItem returns the attributes of an item except its key.
func daxItem(item map[string]json.RawMessage) daxclient.Item {
	rest := daxclient.Item{}
	for name, value := range item {
		if name != "p" && name != "s" {
			rest[name] = string(value)
		}
	}
	return rest
}

// fromDAX combines a key and the other attributes.
func fromDAX(key map[string]json.RawMessage, rest daxclient.Item) *stored {
	if rest == nil {
		return nil
	}
	var item stored
	for _, err := range []error{json.Unmarshal(key["p"], &item.P), json.Unmarshal(key["s"], &item.S), json.Unmarshal([]byte(rest["v"]), &item.V)} {
		if err != nil {
			return &stored{V: attribute{N: "none"}} // a value that no write has stored
		}
	}
	return &item
}
