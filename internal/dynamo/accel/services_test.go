package accel

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestServicesOfOneOrigin writes to, purges and reconfigures one service, and checks the
// replies of another one with the same origin.
func TestServicesOfOneOrigin(t *testing.T) {
	const item = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g1"},"k":{"S":"k1"},"l":{"S":"l1"},"v":{"S":"x"}}`
	reads := map[string][2]string{
		"item":      {"GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`},
		"absence":   {"GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"2"}}}`},
		"batch":     {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`},
		"partition": {"Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
		"local":     {"Query", `{"TableName":"t","IndexName":"byl","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
		"global":    {"Query", `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"g1"}}}`},
		"scan":      {"Scan", `{"TableName":"t"}`},
	}
	type pair struct {
		*script
		one, two *Service
	}
	ask := func(p *pair, svc *Service, op, body string) telemetry.Decision {
		t.Helper()
		p.svc = svc
		x := p.send(op, body)
		_, want := p.origin.model.serve(op, []byte(body))
		if got := sortedJSON(op, x.Reply.Body); got != sortedJSON(op, want) {
			t.Errorf("%s %s\n%s\nwant %s\n got %s", op, body, x.Record.Decision, want, got)
		}
		return x.Record.Decision
	}
	f := func(name string, change func(*Config), act func(p *pair)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			s.start()
			p := &pair{s, s.svc, s.second(change)}
			p.send("PutItem", `{"TableName":"t","Item":`+item+`}`)
			time.Sleep(time.Minute)
			for what, r := range reads {
				for _, svc := range []*Service{p.one, p.two} {
					ask(p, svc, r[0], r[1])
					if d := ask(p, svc, r[0], r[1]); d != telemetry.Hit && d != telemetry.HitNegative {
						t.Errorf("%s: %s is not cached: %s", name, what, d)
					}
				}
			}
			act(p)
		})
	}
	same := func(cfg *Config) {
		cfg.ItemTTL, cfg.QueryTTL, cfg.NegativeTTL = 2*time.Minute, 3*time.Minute, 4*time.Minute
	}
	// write writes through one service; the reply of the other one must match the origin.
	write := func(name, op, body string) {
		t.Helper()
		f(name, same, func(p *pair) {
			p.svc = p.one
			if x := p.send(op, body); x.Reply.Status != 200 {
				t.Fatalf("%s: got %d %s", name, x.Reply.Status, x.Reply.Body)
			}
			for _, r := range reads {
				ask(p, p.two, r[0], r[1])
			}
		})
	}
	write("put", "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g2"},"v":{"S":"y"}}}`)
	write("put of another item", "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"2"},"g":{"S":"g1"},"l":{"S":"l0"}}}`)
	write("update", "UpdateItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET g = :g","ExpressionAttributeValues":{":g":{"S":"g2"}}}`)
	write("delete", "DeleteItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	write("batch", "BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"p":{"S":"a"},"s":{"N":"1"}}}},{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"2"},"g":{"S":"g1"}}}}]}}`)
	write("transaction", "TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"S":"z"}}}}]}`)
	write("PartiQL", "ExecuteStatement", `{"Statement":"UPDATE \"t\" SET v = 'w' WHERE p = 'a' AND s = 1"}`)
	write("ARN", "DeleteItem", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	write("deleted table", "DeleteTable", `{"TableName":"t"}`)

	const toG2 = `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g2"}}}`
	f("unknown outcome", same, func(p *pair) {
		p.origin.next = append(p.origin.next, p.origin.fault("reset"))
		p.svc = p.one
		p.send("PutItem", toG2)
		for what, r := range reads {
			ask(p, p.two, r[0], r[1])
			if d := ask(p, p.two, r[0], r[1]); what != "absence" && d == telemetry.Hit {
				t.Errorf("%s is served from the cache during quarantine", what)
			}
		}
	})
	f("purge", same, func(p *pair) {
		if _, err := p.one.Purge(p.t.Context(), admin.PurgeRequest{Table: "t"}); err != nil {
			t.Fatal(err)
		}
		for what, r := range reads {
			if what == "batch" { // it reads the item of the other read
				continue
			}
			if d := ask(p, p.two, r[0], r[1]); d == telemetry.Hit || d == telemetry.HitNegative {
				t.Errorf("%s is served from the cache after a purge", what)
			}
		}
	})
	// A table that is changed through one service is described again by the other: its
	// writes drop queries of the new index.
	f("new index", same, func(p *pair) {
		const byv = `{"TableName":"t","IndexName":"byv","KeyConditionExpression":"v = :v","ExpressionAttributeValues":{":v":{"S":"x"}}}`
		p.svc = p.one
		p.send("UpdateTable", `{"TableName":"t","AttributeDefinitions":[{"AttributeName":"v","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[`+
			`{"Create":{"IndexName":"byv","KeySchema":[{"AttributeName":"v","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}`)
		p.send("Query", byv)
		time.Sleep(10 * time.Second)
		ask(p, p.one, "Query", byv)
		if d := ask(p, p.one, "Query", byv); d != telemetry.Hit {
			t.Fatalf("the new index is not cached: %s", d)
		}
		p.svc = p.two
		p.send("PutItem", toG2)
		ask(p, p.one, "Query", byv)
	})
	// A shorter TTL of one service does not affect the other service.
	f("reload", same, func(p *pair) {
		cfg := p.cfg
		cfg.ItemTTL = time.Second
		if err := p.one.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		if d := ask(p, p.one, "GetItem", reads["item"][1]); d == telemetry.Hit {
			t.Error("an item cached with a longer TTL is still served")
		}
		if d := ask(p, p.two, "GetItem", reads["item"][1]); d != telemetry.Hit {
			t.Errorf("the other service's item is no longer cached: %s", d)
		}
	})
	// One service moves to another origin and back again.
	f("moved", same, func(p *pair) {
		cfg, removed := p.cfg, p.one.ItemRemoved()
		elsewhere := &scriptOrigin{model: newModel(), classify: p.origin.classify}
		cfg.Origin.URL, cfg.Connect = "http://elsewhere.test", func(origin.Config) (Origin, error) { return elsewhere, nil }
		if err := p.one.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		p.svc = p.one
		if x := p.send("GetItem", reads["item"][1]); x.Reply.Status != 400 {
			t.Errorf("got %s, want an error: the other origin has no table", x.Reply.Body)
		}
		if d := ask(p, p.two, "GetItem", reads["item"][1]); d != telemetry.Hit {
			t.Errorf("the other service's item is no longer cached: %s", d)
		}
		// The store of the previous origin removes an item, and still calls the service.
		if ask(p, p.two, "Query", reads["partition"][1]) != telemetry.Hit {
			t.Error("the other service's query is no longer cached")
		}
		removed("t", []byte(item))
		if d := ask(p, p.two, "Query", reads["partition"][1]); d == telemetry.Hit {
			t.Error("a query is served that has an item removed by the store")
		}
		p.svc = p.two
		p.send("PutItem", toG2)
		if err := p.one.Reconfigure(p.cfg); err != nil {
			t.Fatal(err)
		}
		for _, r := range reads {
			ask(p, p.one, r[0], r[1])
		}
	})
	f("other region", func(cfg *Config) { same(cfg); cfg.Region = "eu-west-1" }, func(p *pair) {
		p.one.cache.Apply(cache.Change{Tags: []cache.Tag{p.one.settings.Load().tag}})
		if d := ask(p, p.two, "GetItem", reads["item"][1]); d != telemetry.Hit {
			t.Errorf("a change in one region affects another region: %s", d)
		}
	})
}
