package advice

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const base = `
cache: {memory: 1GiB}
services:
  orders:
    {type: dynamodb, listen: "127.0.0.1:8000", origin: "http://127.0.0.1:8001", region: local, auth: {mode: none}, memory: 256MiB, tables: {"log-*": {}}}
  site: {type: http, listen: "127.0.0.1:8088", origins: ["http://127.0.0.1:3000"]}
`

// merge adds the members of b to a, whose maps it changes.
func merge(a, b map[string]any) {
	for k, v := range b {
		old, both := a[k].(map[string]any)
		if m, isMap := v.(map[string]any); isMap && both {
			merge(old, m)
			continue
		}
		a[k] = v
	}
}

// loaded returns the configuration with a suggested setting.
func loaded(t *testing.T, setting string) *config.Config {
	t.Helper()
	all, more := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(base), &all); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(setting), &more); err != nil {
		t.Fatalf("%s: %v", setting, err)
	}
	merge(all, more)
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("kasoku.yaml", text, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%s: %v", setting, err)
	}
	return c
}

// full returns a memory that is full, with these hit ratios at half of its size, at its size and at
// twice as much.
func full(half, now, double float64) Memory {
	return Memory{
		Limit: 1 << 30, Whole: 1 << 30, Capacity: 768 << 20, Bytes: 760 << 20, Evictions: 1000,
		Lookups: 1e6, Sampled: 50_000, Keys: 4000, Half: half, HitRatio: now, Double: double,
	}
}

// users returns a table with usual settings.
func users(all, queries Counts) Table {
	return Table{
		Name: "users", Decisions: all, Queries: queries,
		ItemTTL: 5 * time.Minute, QueryTTL: 5 * time.Minute, NegativeTTL: time.Minute, StreamsMaxLag: time.Second,
	}
}

// TestRules checks each rule, just before and beyond the figures that it needs. Each suggestion is
// loaded as configuration.
func TestRules(t *testing.T) {
	const hit, negative, miss, expired, invalidated = telemetry.Hit, telemetry.HitNegative, telemetry.Miss, telemetry.MissExpired, telemetry.MissInvalidated
	f := func(name string, in Input, want ...string) {
		t.Helper()
		r := Make(&in)
		var got []string
		for _, s := range r.Suggestions {
			got = append(got, s.Rule+": "+s.Setting)
			if loaded(t, s.Setting).Equal(loaded(t, "{}")) {
				t.Errorf("%s: the configuration is the same with %s", name, s.Setting)
			}
			if s.Finding == "" || s.Effect == "" || s.Basis == "" {
				t.Errorf("%s: without a reason: %+v", name, s)
			}
			weakens := strings.HasSuffix(s.Rule, "-too-short")
			if weakens != (s.Coherence != "") {
				t.Errorf("%s: its effect on coherence is %q", name, s.Coherence)
			}
		}
		if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
			t.Errorf("%s: got\n%s\nwant\n%s", name, a, b)
		}
	}
	memory := func(change func(*Memory), half, now, double float64) Input {
		m := full(half, now, double)
		change(&m)
		return Input{Memories: []Memory{m}}
	}
	keep := func(*Memory) {}
	f("no figures", Input{})
	f("more memory helps", memory(keep, 0.7, 0.8, 0.85), "memory-too-small: cache: {memory: 1792MiB}")
	f("it helps a service", memory(func(m *Memory) { m.Service, m.Limit, m.Capacity = "orders", 256<<20, 256<<20 }, 0.7, 0.8, 0.85),
		"memory-too-small: cache: {memory: 1280MiB}\nservices: {\"orders\": {memory: 512MiB}}")
	f("it helps little", memory(keep, 0.7, 0.8, 0.815))
	f("nothing was evicted", memory(func(m *Memory) { m.Evictions = 0 }, 0.7, 0.8, 0.85))
	f("few look-ups", memory(func(m *Memory) { m.Lookups = minLookups - 1 }, 0.7, 0.8, 0.85))
	f("few keys", memory(func(m *Memory) { m.Keys = minKeys - 1 }, 0.7, 0.8, 0.85))
	f("less memory does", memory(keep, 0.797, 0.8, 0.802), "memory-too-large: cache: {memory: 640MiB}")
	f("it does for a service", memory(func(m *Memory) { m.Service, m.Limit, m.Capacity = "orders", 256<<20, 256<<20 }, 0.8, 0.8, 0.8),
		`memory-too-large: services: {"orders": {memory: 128MiB}}`)
	f("half is empty", memory(func(m *Memory) { m.Bytes = m.Capacity/2 - 1 }, 0.8, 0.8, 0.8))

	table := func(all, queries Counts, change ...func(*Table)) Input {
		tab := users(maps.Clone(all), queries)
		for _, c := range change {
			c(&tab)
		}
		return Input{Services: []Service{{Name: "orders", Type: "dynamodb", Tables: []Table{tab}}}}
	}
	f("items expire", table(Counts{hit: 800, miss: 100, expired: 100}, nil), `ttl-too-short: services: {"orders": {tables: {"users": {item_ttl: 20m}}}}`)
	f("a pattern has the settings", table(Counts{hit: 900, expired: 100}, nil, func(t *Table) { t.Name, t.Pattern = "log-a", "log-*" }),
		`ttl-too-short: services: {"orders": {tables: {"log-*": {item_ttl: 20m}}}}`)
	f("few reads", table(Counts{hit: 800, miss: 99, expired: 100}, nil))
	f("few expire", table(Counts{hit: 960, expired: 40}, nil))
	f("writes are as frequent", table(Counts{hit: 800, expired: 100, invalidated: 100}, nil))
	f("not cached", table(Counts{hit: 800, expired: 200}, nil, func(t *Table) { t.ItemTTL = 0 }))
	f("the longest TTL", table(Counts{hit: 800, expired: 200}, nil, func(t *Table) { t.ItemTTL = maxTTL }))
	f("queries expire", table(Counts{hit: 800, expired: 200}, Counts{hit: 800, expired: 200}),
		`ttl-too-short: services: {"orders": {tables: {"users": {query_ttl: 20m}}}}`)
	f("queries are not repeated", table(Counts{hit: 10, miss: 1000}, Counts{hit: 10, miss: 1000}),
		`queries-not-repeated: services: {"orders": {tables: {"users": {query_ttl: 0s}}}}`)
	f("queries are invalidated", table(Counts{invalidated: 1000}, Counts{invalidated: 1000}),
		`queries-not-repeated: services: {"orders": {tables: {"users": {query_ttl: 0s}}}}`)
	f("some queries are repeated", table(Counts{hit: 30, miss: 1000}, Counts{hit: 30, miss: 1000}))
	f("items are not repeated", table(Counts{miss: 1000}, nil))
	f("missing items expire", table(Counts{hit: 500, negative: 400, expired: 100}, nil, func(t *Table) { t.ItemTTL = 3 * time.Minute }),
		`ttl-too-short: services: {"orders": {tables: {"users": {item_ttl: 12m}}}}`,
		`negative-ttl-too-short: services: {"orders": {tables: {"users": {negative_ttl: 3m}}}}`)
	f("streams lag", table(Counts{hit: 980, telemetry.BypassLagging: 20}, nil), `lag-too-short: services: {"orders": {tables: {"users": {streams_max_lag: 2s}}}}`)
	f("streams hardly lag", table(Counts{hit: 981, telemetry.BypassLagging: 19}, nil))
	f("at most a minute", table(Counts{hit: 980, telemetry.BypassLagging: 20}, nil, func(t *Table) { t.StreamsMaxLag = time.Minute }))

	site := func(c Counts, swr time.Duration) Input {
		return Input{Services: []Service{{Name: "site", Type: "http", Decisions: c, StaleWhileRevalidate: swr}}}
	}
	f("responses expire", site(Counts{hit: 900, telemetry.Revalidated: 60, expired: 40}, 0), `freshness-too-short: services: {"site": {stale_while_revalidate: 30s}}`)
	f("it is set", site(Counts{hit: 900, telemetry.Revalidated: 100}, time.Second))
	f("few of them", site(Counts{hit: 901, telemetry.Revalidated: 99}, 0))
}

// TestTexts reads whole suggestions, as an operator does.
func TestTexts(t *testing.T) {
	in := Input{
		Memories: []Memory{full(0.7, 0.8, 0.85)},
		Services: []Service{{Name: "orders", Tables: []Table{users(Counts{telemetry.Hit: 800, telemetry.Miss: 90, telemetry.MissExpired: 100, telemetry.MissInvalidated: 10}, nil)}}},
	}
	r := Make(&in)
	if len(r.Suggestions) != 2 || len(r.Memory) != 1 {
		t.Fatalf("got %+v", r)
	}
	want := []Suggestion{{
		Rule:    "memory-too-small",
		Finding: "The memory is full: 1000 entries were evicted, and 80.0% of the look-ups find one.",
		Setting: "cache: {memory: 1792MiB}",
		Effect:  "85.0% of the look-ups find an entry",
		Basis:   "simulated caches of other sizes, for a sample of the keys: 50000 of 1000000 look-ups; its error is usually below 1%, at most 3%",
	}, {
		Rule: "ttl-too-short", Service: "orders", Table: "users",
		Finding:   "10.0% of 1000 reads found an expired entry, and only 1.0% one that a write had invalidated: item_ttl of 5m is short for the rate of writes.",
		Setting:   `services: {"orders": {tables: {"users": {item_ttl: 20m}}}}`,
		Effect:    "a hit ratio of the items of up to 87.5% instead of 80.0%",
		Basis:     "an upper bound: of regular reads of a key, one in each TTL finds it expired, so a TTL of 4 times the length saves 75.0% of these misses",
		Coherence: "a write past Kasoku to items is unseen for up to 20m instead of 5m, unless the table's stream is followed; writes through Kasoku are seen at once as before",
	}}
	for i, s := range r.Suggestions {
		if s != want[i] {
			t.Errorf("got\n%+v\nwant\n%+v", s, want[i])
		}
	}
	if e := r.Memory[0]; !e.Enough || *e.HitRatio != 0.8 || *e.Half != 0.7 || *e.Double != 0.85 || e.Capacity != 768<<20 {
		t.Errorf("got the estimate %+v", e)
	}
	in.Memories[0].Lookups = 1
	if e := Make(&in).Memory[0]; e.Enough || e.HitRatio != nil {
		t.Errorf("got the estimate %+v from one look-up", e)
	}
}
