package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// client sends one request after the other and records the answers.
type client struct {
	*run
	conn
	id       int32
	node     int // of a cluster
	rand     *rand.Rand
	newest   int32
	mine     []int32           // with Serial: the keys of the present write
	seen     [4 * window]int64 // the number last seen, by key modulo its length, for conditions that hold
	ops      []Op
	queries  []Query
	troubles []Trouble
}

func (c *client) loop(ctx context.Context) {
	for {
		newest, more := c.next()
		if !more || ctx.Err() != nil {
			return
		}
		c.newest = newest
		c.deleteOld(ctx)
		if c.Pause > 0 {
			pause.For(ctx, time.Duration(c.rand.Int64N(int64(c.Pause))))
		}
		if c.rand.IntN(100) < c.writing() {
			c.write(ctx)
		} else {
			c.read(ctx)
		}
	}
}

// deleteOld deletes a partition that is no longer in use, if it is this client's turn. It may
// fail, and is not recorded.
func (c *client) deleteOld(ctx context.Context) {
	old := c.deleted.Load()
	if c.newest/width-old <= kept || !c.deleted.CompareAndSwap(old, old+1) {
		return
	}
	deletes := make([]string, width)
	for i := range deletes {
		deletes[i] = fmt.Sprintf(`{"DeleteRequest":{"Key":%s}}`, keyText(old*width+int32(i)))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c.do(ctx, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{"history":[%s]}}`, strings.Join(deletes, ",")))
}

// key draws one of the current keys. Half of the requests use one of two.
func (c *client) key() int32 {
	if c.mine != nil {
		return c.mine[0]
	}
	if c.rand.IntN(2) == 0 {
		return c.newest - window/2 - int32(c.rand.IntN(2))
	}
	return c.newest - int32(c.rand.IntN(window))
}

// someKeys draws n different keys, or fewer for a write if writes are serial.
func (c *client) someKeys(n int) []int32 {
	if c.mine != nil {
		return c.mine[:min(n, len(c.mine))]
	}
	keys := make([]int32, 0, n)
	for _, i := range c.rand.Perm(window)[:n] {
		keys = append(keys, c.newest-int32(i))
	}
	return keys
}

func (c *client) fresh() int64 { return c.numbers.Add(1) }

// nodePause is the pause after a request to a node of a cluster that had no result.
const nodePause = 20 * time.Millisecond

// request sends one request; call and returned are its times. The caller must complete
// operations recorded before according to outcome.
func (c *client) request(ctx context.Context, operation, body string) (answer reply, what outcome, call, returned int64) {
	write := !strings.Contains(operation, "Get") && operation != "Query" && operation != "Scan"
	timeout := c.timeout(write)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	byDAX := c.daxAnswers
	call = c.now()
	answer, what, err := c.do(ctx, operation, body)
	returned = c.now()
	c.note(Trouble{Operation: operation, DAX: c.daxAnswers > byDAX, Write: write, Err: err}, what, timeout, call, returned)
	switch what {
	case ok, conditional:
		c.answered.Add(1)
	case unacceptable:
		c.fail(err)
	case unknown, refused:
		if c.Nodes != nil {
			pause.For(ctx, nodePause) // its node may be down
		}
	}
	return answer, what, call, returned
}

// maxAbort is the maximum time after which a client aborts a request at once.
const maxAbort = 3 * time.Millisecond

// timeout returns the client's timeout, usually very long.
func (c *client) timeout(write bool) time.Duration {
	if c.Abort > 0 && c.rand.IntN(c.Abort) == 0 {
		return time.Duration(c.rand.Int64N(int64(maxAbort)))
	}
	if c.ReadTimeout > 0 && !write && c.rand.IntN(2) == 0 {
		return c.ReadTimeout
	}
	return 30 * time.Second
}

// note records a request that was slow, or had no result.
func (c *client) note(t Trouble, what outcome, timeout time.Duration, call, returned int64) {
	took := time.Duration(returned - call)
	answered := what == ok || what == conditional
	if answered {
		t.Err = nil
	}
	if answered && (c.Slow == 0 || took < c.Slow) || !answered && timeout < maxAbort {
		return
	}
	t.Node, t.Call, t.Return = c.node, c.began.Add(time.Duration(call)), c.began.Add(time.Duration(returned))
	c.troubles = append(c.troubles, t)
}

func (c *client) record(o Op) {
	o.Client = c.id
	if v, ok := o.observes(); ok {
		c.seen[o.Key%int32(len(c.seen))] = v
	}
	if o.writes() && o.Return != never {
		c.seen[o.Key%int32(len(c.seen))] = o.Arg
	}
	c.ops = append(c.ops, o)
}

func (c *client) expected(key int32) int64 { return c.seen[key%int32(len(c.seen))] }

func (c *client) read(ctx context.Context) {
	switch n := c.rand.IntN(100); {
	case n < 55:
		c.get(ctx)
	case n < 70:
		c.batchGet(ctx)
	case n < 74:
		c.transactGet(ctx)
	case n < 88:
		c.query(ctx, -1)
	case n < 89 && c.rand.IntN(10) == 0:
		c.scan(ctx)
	default:
		c.query(ctx, int8(c.rand.IntN(groups)))
	}
}

func (c *client) get(ctx context.Context) {
	key, extra := c.key(), ""
	switch c.rand.IntN(10) {
	case 0:
		extra = `,"ConsistentRead":true`
	case 1:
		extra = `,"ProjectionExpression":"v"`
	case 2:
		extra = `,"ProjectionExpression":"#n, p","ExpressionAttributeNames":{"#n":"v"}`
	}
	answer, what, call, returned := c.request(ctx, "GetItem", fmt.Sprintf(`{"TableName":"history","Key":%s%s}`, keyText(key), extra))
	if what == ok {
		c.record(Op{Key: key, Kind: Read, Got: answer.Item.number(), Call: call, Return: returned})
	}
}

func (c *client) batchGet(ctx context.Context) {
	keys := c.someKeys(1 + c.rand.IntN(width))
	texts := make([]string, len(keys))
	values := make(map[int32]int64, len(keys))
	for i, key := range keys {
		texts[i] = keyText(key)
		values[key] = 0
	}
	consistent := c.rand.IntN(8) == 0
	answer, what, call, returned := c.request(ctx, "BatchGetItem", fmt.Sprintf(
		`{"RequestItems":{"history":{"Keys":[%s],"ConsistentRead":%t}}}`, strings.Join(texts, ","), consistent))
	if what != ok {
		return
	}
	var responses map[string][]stored
	if err := json.Unmarshal(answer.Responses, &responses); err != nil {
		c.fail(fmt.Errorf("BatchGetItem's Responses: %w", err))
		return
	}
	for _, item := range responses[Table] {
		if _, requested := values[item.key()]; !requested {
			c.fail(fmt.Errorf("BatchGetItem returned key %d, requested %v", item.key(), keys))
			return
		}
		values[item.key()] = item.number()
	}
	for _, item := range answer.UnprocessedKeys[Table].Keys {
		delete(values, item.key())
	}
	for key, v := range values {
		c.record(Op{Key: key, Kind: Read, Got: v, Call: call, Return: returned})
	}
}

func (c *client) transactGet(ctx context.Context) {
	keys := c.someKeys(2)
	members := make([]string, len(keys))
	for i, key := range keys {
		members[i] = fmt.Sprintf(`{"Get":{"TableName":"history","Key":%s}}`, keyText(key))
	}
	answer, what, call, returned := c.request(ctx, "TransactGetItems", fmt.Sprintf(`{"TransactItems":[%s]}`, strings.Join(members, ",")))
	if what != ok {
		return
	}
	var responses []struct{ Item *stored }
	if err := json.Unmarshal(answer.Responses, &responses); err != nil || len(responses) != len(keys) {
		c.fail(fmt.Errorf("TransactGetItems answered %s to %d keys: %w", answer.Responses, len(keys), err))
		return
	}
	for i, key := range keys {
		c.record(Op{Key: key, Kind: Read, Got: responses[i].Item.number(), Call: call, Return: returned})
	}
}

// query queries one partition of the table, or of the index if group >= 0.
func (c *client) query(ctx context.Context, group int8) {
	q := Query{Client: c.id, Partition: c.key() / width, Group: group}
	name, value, extra := "p", fmt.Sprintf("p%d", q.Partition), ""
	if group >= 0 {
		name, value, extra = "g", groupText(q.Partition, group), `,"IndexName":"by-group"`
	}
	switch c.rand.IntN(6) {
	case 0:
		extra += `,"ScanIndexForward":false`
	case 1:
		if group < 0 {
			q.Consistent = true
			extra += `,"ConsistentRead":true`
		}
	case 2:
		extra += `,"ProjectionExpression":"p, s, v"`
	}
	answer, what, call, returned := c.request(ctx, "Query", fmt.Sprintf(
		`{"TableName":"history","KeyConditionExpression":"%s = :k","ExpressionAttributeValues":{":k":{"S":"%s"}}%s}`, name, value, extra))
	if what != ok {
		return
	}
	q.Call, q.Return = call, returned
	for i := range answer.Items {
		key := answer.Items[i].key()
		if key/width != q.Partition || answer.LastEvaluatedKey != nil {
			c.fail(fmt.Errorf("%s answered with key %d, or in pages", &q, key))
			return
		}
		q.Values[key%width] = answer.Items[i].number()
	}
	c.queries = append(c.queries, q)
}

// scan reads the partitions in use by a scan of the table, which may have several pages.
func (c *client) scan(ctx context.Context) {
	first, last := (c.newest-window+1)/width, c.newest/width
	names, values := "", ""
	found := map[int32]*Query{}
	for p := first; p <= last; p++ {
		found[p] = &Query{Client: c.id, Partition: p, Group: -1}
		names += fmt.Sprintf(" OR p = :p%d", p)
		values += fmt.Sprintf(`,":p%d":{"S":"p%d"}`, p, p)
	}
	begun := int64(-1)
	for after := ""; ; {
		answer, what, call, returned := c.request(ctx, "Scan", fmt.Sprintf(
			`{"TableName":"history","FilterExpression":"%s","ExpressionAttributeValues":{%s}%s}`, names[len(" OR "):], values[1:], after))
		if what != ok {
			return
		}
		if begun < 0 {
			begun = call
		}
		for i := range answer.Items {
			key := answer.Items[i].key()
			if found[key/width] == nil {
				c.fail(fmt.Errorf("scan of the partitions %d to %d answered with key %d", first, last, key))
				return
			}
			found[key/width].Values[key%width] = answer.Items[i].number()
		}
		if answer.LastEvaluatedKey == nil {
			for _, q := range found {
				q.Call, q.Return = begun, returned
				c.queries = append(c.queries, *q)
			}
			return
		}
		after = fmt.Sprintf(`,"ExclusiveStartKey":%s`, keyText(answer.LastEvaluatedKey.key()))
	}
}
