package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// serialKeys is the number of keys that a client reserves for a serial write.
const serialKeys = 3

// claim reserves keys for a serial write. It returns false if most of the current ones are
// reserved.
func (c *client) claim() bool {
	keys := append([]int32{c.key()}, c.someKeys(window)...)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	for _, k := range keys {
		if !c.claimed[k] && len(c.mine) < serialKeys {
			c.claimed[k] = true
			c.mine = append(c.mine, k)
		}
	}
	if len(c.mine) == serialKeys {
		return true
	}
	for _, k := range c.mine {
		delete(c.claimed, k)
	}
	c.mine = nil
	return false
}

// release ends the reservation, except of keys whose operations since a position in the record
// have an unknown outcome: they may overlap another write for a long time.
func (c *client) release(since int) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	for _, k := range c.mine {
		if !slices.ContainsFunc(c.ops[since:], func(o Op) bool { return o.Key == k && o.Return == never }) {
			delete(c.claimed, k)
		}
	}
	c.mine = nil
}

func (c *client) write(ctx context.Context) {
	if c.Serial {
		if !c.claim() {
			c.read(ctx)
			return
		}
		defer c.release(len(c.ops))
	}
	switch n := c.rand.IntN(100); {
	case n < 25:
		c.put(ctx)
	case n < 45:
		c.update(ctx)
	case n < 55:
		c.delete(ctx)
	case n < 80:
		c.conditional(ctx)
	case n < 90:
		c.batchWrite(ctx)
	default:
		c.transactWrite(ctx)
	}
}

// ended completes a write on one key according to its outcome, and records it unless nothing
// was executed.
func (c *client) ended(o Op, answer *reply, what outcome, call, returned int64) {
	o.Call, o.Return = call, returned
	switch what {
	case ok:
		if o.Kind == Swap {
			o.Got = answer.Attributes.number()
		}
	case conditional:
		o.Refused, o.Got = true, answer.Item.number()
	case unknown:
		o.Return = never
	default:
		return
	}
	c.record(o)
}

func (c *client) put(ctx context.Context) {
	o, extra := Op{Key: c.key(), Kind: Write, Arg: c.fresh()}, ""
	if c.rand.IntN(3) == 0 {
		o.Kind, extra = Swap, `,"ReturnValues":"ALL_OLD"`
	}
	answer, what, call, returned := c.request(ctx, "PutItem", fmt.Sprintf(
		`{"TableName":"history","Item":%s%s}`, itemText(o.Key, o.Arg), extra))
	c.ended(o, &answer, what, call, returned)
}

const set = `"UpdateExpression":"SET v = :v, g = :g, filler = :p"`

// setValues returns the values used by set, and one more for conditions.
func setValues(key int32, v, expect int64) string {
	values := fmt.Sprintf(`":v":{"N":"%d"},":g":{"S":"%s"},":p":{"S":"%s"}`, v, groupText(key/width, groupOf(v)), padding)
	if expect != 0 {
		values += fmt.Sprintf(`,":e":{"N":"%d"}`, expect)
	}
	return `"ExpressionAttributeValues":{` + values + `}`
}

func (c *client) update(ctx context.Context) {
	o, extra := Op{Key: c.key(), Kind: Write, Arg: c.fresh()}, ""
	switch c.rand.IntN(3) {
	case 0:
		o.Kind, extra = Swap, `,"ReturnValues":"ALL_OLD"`
	case 1:
		extra = `,"ReturnValues":"ALL_NEW"`
	}
	answer, what, call, returned := c.request(ctx, "UpdateItem", fmt.Sprintf(
		`{"TableName":"history","Key":%s,%s,%s%s}`, keyText(o.Key), set, setValues(o.Key, o.Arg, 0), extra))
	if what == ok && extra != "" && o.Kind == Write && answer.Attributes.number() != o.Arg {
		c.fail(fmt.Errorf("UpdateItem returned %d after storing %d", answer.Attributes.number(), o.Arg))
	}
	c.ended(o, &answer, what, call, returned)
}

func (c *client) delete(ctx context.Context) {
	o, extra := Op{Key: c.key(), Kind: Write}, ""
	if c.rand.IntN(2) == 0 {
		o.Kind, extra = Swap, `,"ReturnValues":"ALL_OLD"`
	}
	answer, what, call, returned := c.request(ctx, "DeleteItem", fmt.Sprintf(
		`{"TableName":"history","Key":%s%s}`, keyText(o.Key), extra))
	c.ended(o, &answer, what, call, returned)
}

// condition returns the condition that the key holds the expected value.
func condition(expect int64) string {
	if expect == 0 {
		return `"ConditionExpression":"attribute_not_exists(p)"`
	}
	return `"ConditionExpression":"v = :e"`
}

const returnOld = `"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`

// conditional puts, updates or deletes an item if it holds the value that the client last
// saw.
func (c *client) conditional(ctx context.Context) {
	key := c.key()
	o := Op{Key: key, Kind: CAS, Arg: c.fresh(), Expect: c.expected(key)}
	n := c.rand.IntN(5)
	operation, body := "UpdateItem", fmt.Sprintf(`"Key":%s,%s,%s`, keyText(key), set, setValues(key, o.Arg, o.Expect))
	values := ""
	if o.Expect != 0 {
		values = fmt.Sprintf(`,"ExpressionAttributeValues":{":e":{"N":"%d"}}`, o.Expect)
	}
	switch n {
	case 0, 1:
		operation, body = "PutItem", fmt.Sprintf(`"Item":%s%s`, itemText(key, o.Arg), values)
	case 2:
		o.Arg = 0
		operation, body = "DeleteItem", fmt.Sprintf(`"Key":%s%s`, keyText(key), values)
	}
	answer, what, call, returned := c.request(ctx, operation, fmt.Sprintf(
		`{"TableName":"history",%s,%s,%s}`, body, condition(o.Expect), returnOld))
	c.ended(o, &answer, what, call, returned)
}

func (c *client) batchWrite(ctx context.Context) {
	keys := c.someKeys(1 + c.rand.IntN(width))
	args := make(map[int32]int64, len(keys))
	members := make([]string, len(keys))
	for i, key := range keys {
		if c.rand.IntN(4) == 0 {
			args[key] = 0
			members[i] = fmt.Sprintf(`{"DeleteRequest":{"Key":%s}}`, keyText(key))
		} else {
			args[key] = c.fresh()
			members[i] = fmt.Sprintf(`{"PutRequest":{"Item":%s}}`, itemText(key, args[key]))
		}
	}
	answer, what, call, returned := c.request(ctx, "BatchWriteItem", fmt.Sprintf(
		`{"RequestItems":{"history":[%s]}}`, strings.Join(members, ",")))
	for _, m := range answer.UnprocessedItems[Table] {
		if m.PutRequest != nil {
			delete(args, m.PutRequest.Item.key())
		} else {
			delete(args, m.DeleteRequest.Key.key())
		}
	}
	for key, v := range args {
		c.ended(Op{Key: key, Kind: Write, Arg: v}, &answer, what, call, returned)
	}
}

// transactWrite writes two or three keys at once, some of them conditionally.
func (c *client) transactWrite(ctx context.Context) {
	keys := c.someKeys(2 + c.rand.IntN(2))
	ops := make([]Op, len(keys))
	members := make([]string, len(keys))
	for i, key := range keys {
		ops[i], members[i] = c.transactMember(key)
	}
	token := ""
	if c.rand.IntN(2) == 0 {
		token = fmt.Sprintf(`,"ClientRequestToken":"token-%d"`, c.fresh())
	}
	answer, what, call, returned := c.request(ctx, "TransactWriteItems", fmt.Sprintf(
		`{"TransactItems":[%s]%s}`, strings.Join(members, ","), token))
	if what == conditional && len(answer.CancellationReasons) != len(ops) {
		c.fail(fmt.Errorf("TransactWriteItems returned %d reasons for %d actions", len(answer.CancellationReasons), len(ops)))
		return
	}
	for i, o := range ops {
		if what == conditional {
			why := answer.CancellationReasons[i]
			if why.Code == "ConditionalCheckFailed" {
				// A failed condition reports the current value, whatever the operation.
				c.record(Op{Key: o.Key, Kind: Read, Got: why.Item.number(), Call: call, Return: returned})
			}
			continue
		}
		c.ended(o, &answer, what, call, returned)
	}
}

func (c *client) transactMember(key int32) (Op, string) {
	expect := c.expected(key)
	values := ""
	if expect != 0 {
		values = fmt.Sprintf(`,"ExpressionAttributeValues":{":e":{"N":"%d"}}`, expect)
	}
	v := c.fresh()
	switch c.rand.IntN(5) {
	case 0:
		return Op{Key: key, Kind: Write, Arg: v}, fmt.Sprintf(`{"Put":{"TableName":"history","Item":%s}}`, itemText(key, v))
	case 1:
		return Op{Key: key, Kind: Write, Arg: v}, fmt.Sprintf(`{"Update":{"TableName":"history","Key":%s,%s,%s}}`,
			keyText(key), set, setValues(key, v, 0))
	case 2:
		return Op{Key: key, Kind: Write}, fmt.Sprintf(`{"Delete":{"TableName":"history","Key":%s}}`, keyText(key))
	case 3:
		return Op{Key: key, Kind: Check, Expect: expect}, fmt.Sprintf(`{"ConditionCheck":{"TableName":"history","Key":%s%s,%s,%s}}`,
			keyText(key), values, condition(expect), returnOld)
	}
	return Op{Key: key, Kind: CAS, Arg: v, Expect: expect}, fmt.Sprintf(`{"Put":{"TableName":"history","Item":%s%s,%s,%s}}`,
		itemText(key, v), values, condition(expect), returnOld)
}
