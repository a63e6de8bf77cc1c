package listener

import (
	"net/netip"
	"testing"
	"time"
)

func TestRateTable(t *testing.T) {
	table := (*rateTable)(nil).with(10)
	if table.with(10) != table || table.with(11) == table || table.with(0) != nil {
		t.Error("a table is not kept for its rate, or kept for another one")
	}
	now := time.Unix(1e9, 0)
	f := func(a, b string, same bool) {
		t.Helper()
		if got := table.of(netip.MustParseAddr(a), now) == table.of(netip.MustParseAddr(b), now); got != same {
			t.Errorf("%s and %s share a limiter: got %v, want %v", a, b, got, same)
		}
	}
	f("192.0.2.1", "192.0.2.1", true)
	f("192.0.2.1", "192.0.2.2", false)
	f("2001:db8::1", "2001:db8::ffff:2", true)
	f("2001:db8::1", "2001:db8:0:1::1", false)
	for i := range uint32(rateShards * ratePerShard * 3 / 2) {
		ip := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		l := table.of(ip, now)
		if i%2 == 0 {
			l.AllowN(now, 5) // not full: a sweep has to remove these too
		}
	}
	for i := range table.shard {
		if n := len(table.shard[i].byIP); n > ratePerShard {
			t.Errorf("shard %d has %d addresses, want at most %d", i, n, ratePerShard)
		}
	}
}
