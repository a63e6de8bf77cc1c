package top

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
)

// hotKeys returns keys, whose counts are multiplied, and a throttled one.
func hotKeys(times uint64) *admin.TableKeys {
	t := &admin.TableKeys{Totals: admin.KeyTotals{Requests: 1000 * times}, Top: map[string][]admin.KeyCount{}}
	for i := range uint64(10) {
		k := admin.KeyCount{Key: fmt.Sprintf(`{"id":{"S":"user-%d"}}`, i), Hash: fmt.Sprintf("%016x", i), Count: (300 - 10*i) * times}
		t.Top["requests"] = append(t.Top["requests"], k)
		if i < 2 {
			k.Count = (93 - i) * times
			t.Top["misses"] = append(t.Top["misses"], k)
		}
	}
	t.Throttles = []admin.KeyThrottle{
		{Reason: "TableReadKeyRangeThroughputExceeded", Partition: "user-0", Key: `{"id":{"S":"user-0"}}`, Hash: "0000000000000000", Count: 400, Recent: 212 * times,
			Advice: "31 % of its reads are misses because item_ttl is 0: set item_ttl for table users"},
		{Reason: "OldReason", Count: 3},
	}
	return t
}

// TestKeys checks the keys of a detail: the sums of all nodes, those of one node, hashes in place of
// keys, and text of clients. A row without keys has none, also after one that has some.
func TestKeys(t *testing.T) {
	bad := hotKeys(2)
	bad.Top["requests"][0].Key, bad.Throttles[0].Reason = "a\x1b[2J", "b\x1b[2J"
	bad.Top["requests"][1].Key = ""
	a := &process{address: "a", report: reportAfter(3, "users", "b"), keys: map[string]*admin.TableKeys{"orders users": hotKeys(1), "orders ": hotKeys(1)}}
	b := &process{address: "b", report: reportAfter(3, "users", "b"), keys: map[string]*admin.TableKeys{"orders users": bad, "site ": hotKeys(1)}}
	term := newTerminal(t, 120, 40, a, b)
	lacks := func(text string) {
		t.Helper()
		if strings.Contains(term.screen(), text) {
			t.Errorf("the screen has %q:\n%s", text, term.screen())
		}
	}
	term.press("enter")
	lacks("user-0")
	term.poll()
	term.has("KEY (LAST MINUTES)", `user-0"}}      900  30.0%     279`, "throttled 212 times in 5 min:", " TableReadKeyRangeThroughputExceeded\n", `throttled 424 times in 5 min: "b\x1b[2J"`, "31 % of its reads", "user-7")
	lacks("user-8")
	lacks("OldReason")
	term.state.only = "b"
	term.poll()
	term.has(`"a\x1b[2J"`, "0000000000000001 ", "600  30.0%     186")
	term.press("esc", "down", "enter")
	lacks("KEY (")
	term.poll()
	lacks("KEY (")
	for _, r := range []struct {
		name string
		keys bool
	}{{"site", true}, {"orders", false}} {
		term.press("esc")
		term.state.selected = row{serviceRow, r.name, ""}
		term.press("enter")
		term.poll()
		if got := strings.Contains(term.screen(), "user-3"); got != r.keys {
			t.Errorf("service %s: keys are shown: %v", r.name, got)
		}
	}
}
