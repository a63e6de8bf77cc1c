package dax

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// stage is a server whose origin has scripted responses. The attribute list age, name has
// number 2, and cnt, tags has 3.
type stage struct {
	*rig
	origin *scripted
	c      *client
}

func newStage(t testing.TB, change ...func(*Config)) *stage {
	t.Helper()
	s := &stage{origin: &scripted{}}
	s.rig = newRig(t, append([]func(*Config){func(c *Config) { c.Service = newServiceOf(t, nil, s.origin) }}, change...)...)
	s.serveOperations()
	for _, names := range [][][]byte{{[]byte("age"), []byte("name")}, {[]byte("cnt"), []byte("tags")}} {
		if _, err := s.cfg.Lists.ID(names, lists.Owner{}); err != nil {
			t.Fatal(err)
		}
	}
	s.c = s.hello("Go v1")
	return s
}

// expect sends a request, compares the reply, and compares the request to the origin, which is
// empty if there must be none.
func (s *stage) expect(request, asked, want string) {
	s.t.Helper()
	s.c.expect(request, want)
	if got := s.origin.take(); got != asked {
		s.t.Errorf("request %s: the origin received\n%s\nwant\n%s", request, got, asked)
	}
}

const (
	getAlice = "011a0fb0cc6a 44 54616231 45 616c696365"
	putAlice = "013a7d8e7e56 44 54616231 45 616c696365"
	updAlice = "011a54f89c0f 44 54616231 45 616c696365"
	delAlice = "011a3c696221 44 54616231 45 616c696365"
	keyAlice = `{"TableName":"Tab1","Key":{"pk":{"S":"alice"}}`
	alice    = `{"Item":{"pk":{"S":"alice"},"name":{"S":"Alice"},"age":{"N":"42"}}}`
)

func TestGetItem(t *testing.T) {
	s := newStage(t)
	const found = "80 bf 00 49 02182a65416c696365 ff"
	s.origin.setAnswer(200, alice)
	s.expect(getAlice+"bf0300ff", "GetItem "+keyAlice+"}", found)
	for range 3 { // the first hit translates the item, others use its cached form
		s.expect(getAlice+"bfff", "", found)
	}
	s.expect(getAlice+"f6", "", found)
	s.expect(getAlice+"bf 02 f5 03 02 ff", "GetItem "+keyAlice+`,"ConsistentRead":true}`,
		"80 bf 00 49 02182a65416c696365 01 58 19 6454616231 fb3ff0000000000000 fb3ff0000000000000 f6 f6 ff")
	s.expect(getAlice+"bf 00 58 2f 820184821262706b8212646e616d65841264696e666f6474616773d90cfc01841264696e666f6474616773d90cfc00 ff", "",
		"80 bf 00 bf 00 65616c696365 01 65416c696365 ff ff")
	s.expect(getAlice+"bf 00 49 8201818212637a7a7a ff", "", "80 bf 00 a0 ff")

	s.origin.setAnswer(200, `{}`)
	const bob = "011a0fb0cc6a 44 54616231 43 626f62"
	s.expect(bob+"bfff", `GetItem {"TableName":"Tab1","Key":{"pk":{"S":"bob"}}}`, "80 f6")
	s.expect(bob+"bfff", "", "80 f6")
	s.expect(bob+"bf0301ff", "", "80 bf 01 51 6454616231 fb3fe0000000000000 f6f6f6 ff")
	s.origin.setAnswer(200, `{"Item":{"pk":{"S":"a"},"sk":{"N":"-1.5"}}}`)
	const number = "011a0fb0cc6a 44 54616232 46 61613ed77fe0"
	s.expect(number+"bfff", `GetItem {"TableName":"Tab2","Key":{"pk":{"S":"a"},"sk":{"N":"-1.5"}}}`, "80 bf 00 41 01 ff")
	s.expect("011a0fb0cc6a 44 54616232 46 61613ed77fe0bfff", "", "80 bf 00 41 01 ff")

	decisions := []telemetry.Decision{}
	for _, r := range s.log.wait(13) {
		decisions = append(decisions, r.Decision)
		if string(r.Table) == "" || r.Operation != "GetItem" || r.KeyHash == 0 {
			t.Errorf("got the record %+v", r)
		}
	}
	if decisions[0] != telemetry.Miss || decisions[1] != telemetry.Hit || decisions[5] != telemetry.BypassConsistent || decisions[9] != telemetry.HitNegative {
		t.Errorf("got the decisions %v", decisions)
	}
	if h, m := s.getItems.hit.Value(), s.getItems.miss.Value(); h != 9 || m != 3 {
		t.Errorf("%d hits, %d misses", h, m)
	}
}

// TestGetItemAfterWrite writes an item that is cached in both forms.
func TestGetItemAfterWrite(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, alice)
	for range 3 {
		s.c.expect(getAlice+"bfff", "80 bf 00 49 02182a65416c696365 ff")
	}
	s.origin.setAnswer(200, `{}`)
	s.c.expect(putAlice+"45 020162416c bfff", "80 f6")
	s.origin.setAnswer(200, `{"Item":{"pk":{"S":"alice"},"name":{"S":"Al"},"age":{"N":"1"}}}`)
	for range 3 {
		s.c.expect(getAlice+"bfff", "80 bf 00 45 020162416c ff")
	}
	s.origin.setAnswer(200, `{}`)
	s.c.expect(delAlice+"bfff", "80 f6")
	s.c.expect(getAlice+"bfff", "80 f6")
}

func TestWrites(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, `{}`)
	const item = `PutItem {"TableName":"Tab1","Item":{"pk":{"S":"alice"},"age":{"N":"42"},"name":{"S":"Alice"}}`
	s.c.expect(putAlice+"49 02182a65416c696365 bf0300ff", "80 f6")
	if got := s.origin.take(); !strings.HasPrefix(got, item) {
		t.Errorf("got %v", got)
	}
	s.c.expect(putAlice+"41 01 bf0701ff", "80 f6")
	if got := s.origin.take(); !strings.HasPrefix(got, `PutItem {"TableName":"Tab1","Item":{"pk":{"S":"alice"}}`) {
		t.Errorf("got %v", got)
	}
	s.origin.setAnswer(200, `{"Attributes":{"pk":{"S":"alice"},"name":{"S":"Bob"},"age":{"N":"9"}},"ConsumedCapacity":{"TableName":"Tab1","CapacityUnits":2},
		"ItemCollectionMetrics":{"ItemCollectionKey":{"pk":{"S":"alice"}},"SizeEstimateRangeGB":[0.5,1.5]}}`)
	const options = "bf 07 02 03 01 06 01 04 58 18 83018307820c821262706b8302821263616765821100810a ff"
	s.c.expect(putAlice+"45 020162416c"+options,
		"80 bf 02 46 020963426f62 01 51 6454616231 fb4000000000000000 f6 f6 f6 03 58 18 65616c696365 fb3fe0000000000000 fb3ff8000000000000 ff")
	got := s.origin.take()
	for _, part := range []string{`"ConditionExpression":"attribute_not_exists(#n0) OR #n1 < :c0"`, `"ExpressionAttributeNames":{"#n0":"pk","#n1":"age"}`,
		`"ExpressionAttributeValues":{":c0":{"N":"10"}}`, `"ReturnValues":"ALL_OLD"`, `"ReturnConsumedCapacity":"TOTAL"`, `"ReturnItemCollectionMetrics":"SIZE"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in %s", part, got)
		}
	}
	s.c.expect(delAlice+options[:8]+"ff", "80 bf 02 46 020963426f62 01 51 6454616231 fb4000000000000000 f6 f6 f6 03 58 18 65616c696365 fb3fe0000000000000 fb3ff8000000000000 ff")
	if got := s.origin.take(); !strings.HasPrefix(got, "DeleteItem "+keyAlice) || !strings.Contains(got, `"ReturnValues":"ALL_OLD"`) {
		t.Errorf("got %v", got)
	}
	s.origin.setAnswer(200, `{"Attributes":{"cnt":{"N":"5"}}}`)
	s.c.expect(updAlice+"bf 07 05 08 50 8301818313821263636e748211008105 ff", "80 bf 02 45 04 bf0005ff ff")
	if got := s.origin.take(); !strings.Contains(got, `"UpdateExpression":"SET #n0 = :u0"`) || !strings.Contains(got, `"ReturnValues":"`) {
		t.Errorf("got %v", got)
	}
	s.origin.setAnswer(200, `{"Attributes":{"pk":{"S":"alice"},"cnt":{"N":"1"},"tags":{"SS":["y"]}}}`)
	s.c.expect(updAlice+"bf 07 04 ff", "80 bf 02 48 03 01 d90cf9 81 6179 ff")
}

// TestItemErrors checks that errors of the origin are relayed and malformed items rejected.
func TestItemErrors(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`)
	s.expect(putAlice+"4101f6", `PutItem {"TableName":"Tab1","Item":{"pk":{"S":"alice"}}}`, "85 04 1825 1826 1827 182b 78 1e "+
		"54686520636f6e646974696f6e616c2072657175657374206661696c6564 83 64 52455131 78 1f 436f6e646974696f6e616c436865636b4661696c6564457863657074696f6e 19 0190")
	s.origin.setAnswer(0, "")
	s.c.expectError(getAlice+"bfff", "", 1, 37, 38, 39, 47)
	s.origin.take()
	for _, bad := range []string{
		getAlice + "bf1863f6 0b 4161ff", // an option that GetItem does not have
		getAlice + "bf 02 6161 ff",
		getAlice + "bf 03 07 ff",
		getAlice + "bf 00 41ff ff",
		getAlice + "01",
		"011a0fb0cc6a 44 54616231 f6 bfff",
		putAlice + "42 1907 bfff", // an unknown list
		putAlice + "42 0201 bfff", // fewer values than names
		putAlice + "41 01 bf 08 41 80 ff",
		updAlice + "bf 08 41 80 ff",
		updAlice + "bf 07 06 ff",
		"011a0fb0cc6a 44 54616232 41 ff bfff",
	} {
		s.c.send(bad)
		if codes, text := s.c.failure(); len(codes) != 5 || codes[4] != 46 {
			t.Errorf("request %s: got the error %v %q", bad, codes, text)
		}
	}
	s.c.expectError("011a0fb0cc6a 44 54616239 41 61 bfff", "not found", 4, 37, 38, 39, 41)
	if got := s.origin.take(); got != "" {
		t.Errorf("the origin received %s", got)
	}
}

// TestGetItemAllocs checks that hits don't allocate.
func TestGetItemAllocs(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Listen, c.Log = "127.0.0.1:0", nil })
	s.origin.setAnswer(200, alice)
	s.c.expect(getAlice+"bfff", "80 bf 00 49 02182a65416c696365 ff")
	request := strings.ReplaceAll(getAlice+"bfff", " ", "")
	l := newLoop(t, s.rig, request)
	if got := testing.AllocsPerRun(2000, func() {
		if err := l.once(); err != nil {
			t.Fatal(err)
		}
	}); got > 0 && !race.Enabled {
		t.Errorf("%v allocations, want none", got)
	}
}
