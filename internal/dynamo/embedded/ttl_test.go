package embedded

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

func TestExpiresAt(t *testing.T) {
	f := func(text string, want int64, ok bool) {
		t.Helper()
		v, err := value.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, is := expiresAt(&v); got != want || is != ok {
			t.Errorf("%s expires at %d, %v; want %d, %v", text, got, is, want, ok)
		}
	}
	f(`{"N":"1700000000"}`, 1_700_000_000, true)
	f(`{"N":"1.7e9"}`, 1_700_000_000, true)
	f(`{"N":"170000000e1"}`, 1_700_000_000, true)
	f(`{"N":"1700000000.0001"}`, 1_700_000_001, true)
	f(`{"N":"0"}`, 0, true)
	f(`{"N":"-1"}`, 0, false)
	f(`{"N":"1e100"}`, 0, false)
	f(`{"S":"1700000000"}`, 0, false)
	f(`{"NULL":true}`, 0, false)
	if _, ok := expiresAt(nil); ok {
		t.Error("a missing attribute expires")
	}
}

func TestTimeToLiveOperations(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	f := func(op, more, want string) {
		t.Helper()
		if got := s.mustSend(t, op, `{"TableName":"tab"`+more+`}`); got != want {
			t.Errorf("%s %s: got %s; want %s", op, more, got, want)
		}
	}
	spec := func(enabled bool, attribute string) string {
		return fmt.Sprintf(`"TimeToLiveSpecification":{"Enabled":%v,"AttributeName":%q}`, enabled, attribute)
	}
	refuse := func(spec, message string) {
		t.Helper()
		s.expectError(t, "UpdateTimeToLive", `{"TableName":"tab",`+spec+`}`, "ValidationException", message)
	}
	f("DescribeTimeToLive", "", `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
	refuse(spec(false, "x"), "TimeToLive is already disabled")
	f("UpdateTimeToLive", ","+spec(true, "x"), "{"+spec(true, "x")+"}")
	f("DescribeTimeToLive", "", `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"x"}}`)
	refuse(spec(true, "x"), "TimeToLive is already enabled")
	refuse(spec(true, "y"), "TimeToLive is active on a different AttributeName: current AttributeName is x")
	refuse(spec(false, "y"), "TimeToLive is active on a different AttributeName: current AttributeName is x")
	f("UpdateTimeToLive", ","+spec(false, "x"), "{"+spec(false, "x")+"}")
	f("DescribeTimeToLive", "", `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
	refuse(`"TimeToLiveSpecification":{"Enabled":true}`,
		"1 validation error detected: Value null at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must not be null")
	refuse(`"TimeToLiveSpecification":{"AttributeName":"x"}`,
		"1 validation error detected: Value null at 'timeToLiveSpecification.enabled' failed to satisfy constraint: Member must not be null")
	refuse(spec(true, strings.Repeat("x", 256)), "1 validation error detected: Value '"+strings.Repeat("x", 256)+
		"' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must have length less than or equal to 255")
}

// expiring is a table with a stream, whose items expire by attribute ttl.
const expiring = `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
	`"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],` +
	`"GlobalSecondaryIndexes":[{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]`

// alive returns the items of a table, by p.
func (s *Store) alive(t testing.TB, name string) string {
	t.Helper()
	var out []string
	for _, p := range strings.Fields("before late never later text old now fraction moved") {
		if got := s.mustSend(t, "GetItem", fmt.Sprintf(`{"TableName":%q,"Key":{"p":{"S":%q}}}`, name, p)); got != "{}" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}

func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 500e6))
	s := openIdle(t, onDisk{Dir: dir}, c.Now)
	s.mustSend(t, "CreateTable", strings.Replace(createP("tab"), defineKeys("p:S"), expiring, 1))
	store := func(p, ttl string) {
		t.Helper()
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q},"g":{"S":"g"},"ttl":%s}}`, p, ttl))
	}
	at := func(after int64) string { return fmt.Sprintf(`{"N":"%d"}`, c.seconds(after)) }
	sweep := func(want string) {
		t.Helper()
		if err := s.sweep(c.Now()); err != nil {
			t.Fatal(err)
		}
		if got := s.alive(t, "tab"); got != want {
			t.Errorf("got the items %s; want %s", got, want)
		}
	}
	store("before", at(-60))
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`)
	store("late", at(-60))
	store("now", at(0))
	store("fraction", fmt.Sprintf(`{"N":"%d.75"}`, c.seconds(0)))
	store("later", at(100))
	store("moved", at(-1))
	store("moved", at(1000))
	store("old", at(-5*365*24*3600-10))
	store("text", fmt.Sprintf(`{"S":"%d"}`, c.seconds(-60)))
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"never"}}}`)

	// The store is opened again before the older items are added.
	s.Close()
	s = openIdle(t, onDisk{Dir: dir}, c.Now)
	var expired []string
	s.OnExpiry(func(table string, item []byte) { expired = append(expired, table+" "+string(item)) })
	if got := s.alive(t, "tab"); got != "before late never later text old now fraction moved" {
		t.Errorf("got the items %s before anything was removed", got)
	}
	sweep("before never later text old fraction moved")
	s.finishBackfill(t)
	sweep("never later text old fraction moved")
	c.advance(time.Second)
	sweep("never later text old moved")
	c.advance(99 * time.Second)
	sweep("never text old moved")
	s.checkIndexes(t, "tab")
	if got := s.describe(t, "tab"); got.ItemCount != 4 || got.GlobalSecondaryIndexes[0].ItemCount != 3 {
		t.Errorf("got the description %+v", got)
	}
	if len(expired) != 5 || expired[0] != fmt.Sprintf(`tab {"p":{"S":"late"},"g":{"S":"g"},"ttl":{"N":"%d"}}`, 1_700_000_000-60) {
		t.Errorf("OnExpiry was called with %q", expired)
	}

	// Records of expired items are marked, and those of clients' deletions are not.
	s.mustSend(t, "DeleteItem", `{"TableName":"tab","Key":{"p":{"S":"never"}}}`)
	removed := 0
	for _, r := range s.records(t, s.describe(t, "tab").LatestStreamArn) {
		if r.EventName != "REMOVE" {
			continue
		}
		removed++
		if by := r.Dynamodb.Keys["p"]["S"] == "never"; by != (r.UserIdentity == nil) {
			t.Errorf("got the record %+v", r)
		} else if !by && (r.UserIdentity["Type"] != "Service" || r.UserIdentity["PrincipalId"] != "dynamodb.amazonaws.com" || r.Dynamodb.OldImage == nil) {
			t.Errorf("got the record %+v", r)
		}
	}
	if removed != 6 {
		t.Errorf("got %d REMOVE records", removed)
	}

	// Without a time to live nothing expires. When it is enabled again, all items are found.
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":false,"AttributeName":"ttl"}}`)
	c.advance(time.Hour)
	sweep("text old moved")
	for _, key := range s.keysOnDisk(t) {
		if key[0] == spaceExpiry {
			t.Errorf("a key is left in the order of expiry: %q", key)
		}
	}
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`)
	s.finishBackfill(t)
	sweep("text old")
}

// TestExpiryOfKeys uses a key attribute as the time to live, and more expired items than fit into
// one batch.
func TestExpiryOfKeys(t *testing.T) {
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, c.Now)
	s.mustSend(t, "CreateTable", `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",`+defineKeys("p:S c:N")+
		`,"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"c","KeyType":"RANGE"}]}`)
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"c"}}`)
	s.finishBackfill(t)
	for i := range 3*sweepItems + 1 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"p"},"c":{"N":"%d"}}}`, c.seconds(int64(-i))))
	}
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"p"},"c":{"N":"%d"}}}`, c.seconds(1)))
	if err := s.sweep(c.Now()); err != nil {
		t.Fatal(err)
	}
	if n := s.describe(t, "tab").ItemCount; n != 1 {
		t.Errorf("%d items are left, want none", n)
	}
}

// TestOrderOfExpiry checks that an item has at most one entry after any change.
func TestOrderOfExpiry(t *testing.T) {
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, c.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`)
	s.finishBackfill(t)
	f := func(attributes string, want int) {
		t.Helper()
		s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"p"}`+attributes+`}}`)
		n := 0
		for _, key := range s.keysOnDisk(t) {
			if key[0] == spaceExpiry {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d entries; want %d", attributes, n, want)
		}
	}
	f(`,"ttl":{"N":"1700000100"}`, 1)
	f(`,"ttl":{"N":"1700000200"}`, 1)
	f(`,"ttl":{"N":"1700000200"},"x":{"S":"x"}`, 1)
	f(`,"ttl":{"S":"never"}`, 0)
	f(`,"ttl":{"N":"1700000200"}`, 1)
	f(``, 0)
	f(`,"ttl":{"N":"1700000200"}`, 1)

	// An outdated entry is removed, and its item is kept.
	items := appendIndex(nil, (*s.tables.Load())["tab"].id, tableIndex)
	for _, key := range s.keysOnDisk(t) {
		if strings.HasPrefix(key, string(items)) {
			early := binary.BigEndian.AppendUint64(appendTable(nil, spaceExpiry, (*s.tables.Load())["tab"].id), 1_699_999_999)
			b := s.db.NewBatch()
			b.Set(append(early, key[hashStart:]...), nil)
			if err := kv.Commit(s.db, b); err != nil {
				t.Fatal(err)
			}
			b.Close()
		}
	}
	if err := s.sweep(c.Now()); err != nil {
		t.Fatal(err)
	}
	f(`,"ttl":{"N":"1700000200"}`, 1)
	if n := s.describe(t, "tab").ItemCount; n != 1 {
		t.Errorf("%d items are left", n)
	}
}

// TestSweepUnderWrites checks that an item whose time to live is extended in time is kept.
func TestSweepUnderWrites(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`)
	s.finishBackfill(t)
	const n = 200
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range n {
				key := fmt.Sprintf(`"p":{"S":"%d %d"}`, w, i)
				s.send(t, "PutItem", `{"TableName":"tab","Item":{`+key+`,"ttl":{"N":"1700000000"}}}`)
				status, _ := s.send(t, "UpdateItem", `{"TableName":"tab","Key":{`+key+`},"UpdateExpression":"REMOVE #t","ConditionExpression":"attribute_exists(p)",`+
					`"ExpressionAttributeNames":{"#t":"ttl"}}`)
				if _, reply := s.send(t, "GetItem", `{"TableName":"tab","Key":{`+key+`}}`); (status == 200) != (reply != "{}") {
					t.Errorf("%s: the update got %d, and the item is then %s", key, status, reply)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		if err := s.sweep(time.Unix(1_700_000_001, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepInBackground checks that an open store removes expired items by itself.
func TestSweepInBackground(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", createP("tab"))
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"before"},"ttl":{"N":"%d"}}}`, time.Now().Unix()-60))
	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}`)
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"late"},"ttl":{"N":"%d"}}}`, time.Now().Unix()-60))
	s.await(t, func() bool { return s.alive(t, "tab") == "" })
}
