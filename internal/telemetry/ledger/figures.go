package ledger

import (
	"maps"
	"slices"
	"time"
)

// Figures are sums over requests. Units are halves of a capacity unit.
type Figures struct {
	Requests uint64        `json:"requests,omitempty"`
	Hits     uint64        `json:"hits,omitempty"`    // requests that were served from memory
	Read     uint64        `json:"read,omitempty"`    // units of reads at the origin
	Write    uint64        `json:"write,omitempty"`   // units of writes there
	Saved    uint64        `json:"saved,omitempty"`   // units of answers that the origin was not asked for
	Filled   uint64        `json:"filled,omitempty"`  // units of answers that were stored
	Reused   uint64        `json:"reused,omitempty"`  // units of stored answers at their first use by another request
	HitTime  time.Duration `json:"hit_ns,omitempty"`  // of the hits
	Waits    uint64        `json:"waits,omitempty"`   // requests that waited for the origin
	WaitTime time.Duration `json:"wait_ns,omitempty"` // spent waiting for it
	OwnTime  time.Duration `json:"own_ns,omitempty"`  // of the same requests, spent in this process
}

// plus returns the sums of both.
func (f Figures) plus(o Figures) Figures {
	f.Requests += o.Requests
	f.Hits += o.Hits
	f.Read += o.Read
	f.Write += o.Write
	f.Saved += o.Saved
	f.Filled += o.Filled
	f.Reused += o.Reused
	f.HitTime += o.HitTime
	f.Waits += o.Waits
	f.WaitTime += o.WaitTime
	f.OwnTime += o.OwnTime
	return f
}

// minus returns the differences from earlier figures of the same counters.
func (f Figures) minus(o Figures) Figures {
	f.Requests -= o.Requests
	f.Hits -= o.Hits
	f.Read -= o.Read
	f.Write -= o.Write
	f.Saved -= o.Saved
	f.Filled -= o.Filled
	f.Reused -= o.Reused
	f.HitTime -= o.HitTime
	f.Waits -= o.Waits
	f.WaitTime -= o.WaitTime
	f.OwnTime -= o.OwnTime
	return f
}

// weight orders accounts by their importance.
func (f *Figures) weight() uint64 { return f.Read + f.Write + f.Saved + f.Requests }

// hour is a number of hours since 1970.
type hour int64

func hourOf(t time.Time) hour { return hour(t.Unix() / 3600) }

func (h hour) start() time.Time { return time.Unix(int64(h)*3600, 0).UTC() }

// hours have the figures of each hour in which there were requests.
type hours map[hour]map[Account]Figures

// maxRows is the maximum number of accounts of an hour that is over. The least important ones
// beyond it are summed up by service.
const maxRows = 500

// add adds figures to an hour.
func (hs hours) add(h hour, a Account, f Figures) {
	m := hs[h]
	if m == nil {
		m = map[Account]Figures{}
		hs[h] = m
	}
	m[a] = m[a].plus(f)
}

// expire drops the hours that are too old and bounds the number of accounts of the past ones.
func (hs hours) expire(now time.Time) {
	oldest := hourOf(now.Add(-Retention))
	for h, m := range hs {
		switch {
		case h < oldest:
			delete(hs, h)
		case h < hourOf(now) && len(m) > maxRows:
			hs[h] = bound(m)
		}
	}
}

// bound returns the most important accounts, with the sums of the others.
func bound(m map[Account]Figures) map[Account]Figures {
	order := slices.SortedFunc(maps.Keys(m), func(a, b Account) int {
		fa, fb := m[a], m[b]
		if wa, wb := fa.weight(), fb.weight(); wa != wb {
			if wa > wb {
				return -1
			}
			return 1
		}
		return a.compare(b)
	})
	services := map[string]bool{}
	for _, a := range order {
		services[a.Service] = true
	}
	out := make(map[Account]Figures, maxRows)
	for i, a := range order {
		f := m[a]
		if i >= maxRows-len(services) {
			a = Account{Service: a.Service, Table: other}
		}
		out[a] = out[a].plus(f)
	}
	return out
}
