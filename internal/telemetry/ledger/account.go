package ledger

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Account names requests whose figures are summed up together.
type Account struct {
	Service   string `json:"service,omitempty"`
	Table     string `json:"table,omitempty"`
	Index     string `json:"index,omitempty"` // empty for the table itself
	Operation string `json:"operation,omitempty"`
	Shape     string `json:"shape,omitempty"`     // of a query, without its values
	Principal string `json:"principal,omitempty"` // the name that the client gives for itself
}

// Limits of the accounts that requests can make. Beyond them requests are accounted for under
// the principal or the table called other.
const (
	maxAccounts   = 2000
	maxPrincipals = 100
	maxName       = 128 // bytes of a principal's name
	other         = "other"
)

// account has the counters of an account.
type account struct {
	Account
	place place
	lines []line
	last  Figures // at the last collection; guarded by Ledger.mu
}

// line has the part of an account's counters that one processor adds to. It fills two cache lines.
type line struct {
	hits, others, saved, filled, reused     atomic.Uint64
	hitTime, waits, waitTime, ownTime, read atomic.Uint64
	write                                   atomic.Uint64
	_                                       [5]uint64
}

func newAccount(p place) *account {
	named := Account{Service: p.service, Table: p.table, Index: p.index, Operation: p.operation, Principal: p.principal}
	if p.shape != nil {
		named.Shape = p.shape.Text
		if named.Index == "" {
			named.Index = p.shape.Index
		}
	}
	return &account{Account: named, place: p, lines: make([]line, telemetry.Shards())}
}

// line returns the counters for the current processor.
func (a *account) line() *line { return &a.lines[telemetry.Shard()] }

// count adds a request.
func (a *account) count(r *telemetry.Record) {
	c := a.line()
	if r.Decision == telemetry.Hit || r.Decision == telemetry.HitNegative {
		c.hits.Add(1)
		c.hitTime.Add(uint64(r.Duration))
	} else {
		c.others.Add(1)
	}
	if r.Origin > 0 {
		c.waits.Add(1)
		c.waitTime.Add(uint64(r.Origin))
		c.ownTime.Add(uint64(max(0, r.Duration-r.Origin)))
	}
	if r.Saved > 0 {
		c.saved.Add(uint64(r.Saved))
	}
	if r.Reused > 0 {
		c.reused.Add(uint64(r.Reused))
	}
}

// sinceLast returns the figures since the last call.
func (a *account) sinceLast() Figures {
	var now Figures
	for i := range a.lines {
		c := &a.lines[i]
		hits := c.hits.Load()
		now.Hits += hits
		now.Requests += hits + c.others.Load()
		now.Read += c.read.Load()
		now.Write += c.write.Load()
		now.Saved += c.saved.Load()
		now.Filled += c.filled.Load()
		now.Reused += c.reused.Load()
		now.HitTime += time.Duration(c.hitTime.Load())
		now.Waits += c.waits.Load()
		now.WaitTime += time.Duration(c.waitTime.Load())
		now.OwnTime += time.Duration(c.ownTime.Load())
	}
	d := now.minus(a.last)
	a.last = now
	return d
}

// place finds the account of a request.
type place struct {
	service, table, index, operation, principal string
	shape                                       *telemetry.Shape
}

// accounts are the accounts of a ledger.
type accounts struct {
	places atomic.Pointer[places] // replaced as a whole

	mu         sync.Mutex // held while places is replaced
	principals map[string]bool
	others     map[string]*account // by service, for what is beyond the limits
}

// ofRecord returns the account of a request. Only one that succeeds makes a new account: names
// that clients make up do not use up the room.
func (a *accounts) ofRecord(r *telemetry.Record) *account {
	p := place{service: r.Service, operation: r.Operation, shape: r.Shape}
	if found := a.places.Load().find(&p, r.Table, r.Principal); found != nil {
		return found
	}
	p.table, p.principal = string(r.Table), string(r.Principal)
	return a.make(p, r.Status >= 200 && r.Status < 300)
}

// ofUse returns the account of a request that its origin has executed.
func (a *accounts) ofUse(u *Use) *account {
	p := place{service: u.Service, table: u.Table, index: u.Index, operation: u.Operation, principal: u.Principal, shape: u.Shape}
	if found := a.find(&p); found != nil {
		return found
	}
	return a.make(p, true)
}

// find returns the account at p, nil if there is none.
func (a *accounts) find(p *place) *account {
	return a.places.Load().find(p, []byte(p.table), []byte(p.principal))
}

// make returns the account at p, or the one for what is beyond the limits. It makes the account if
// it may and there is room.
func (a *accounts) make(p place, may bool) *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.find(&p); found != nil {
		return found
	}
	if may {
		if !a.admit(p.principal) {
			p.principal = other
			if found := a.find(&p); found != nil {
				return found
			}
		}
		if now := a.places.Load(); now == nil || len(now.accounts) < maxAccounts {
			added := newAccount(p)
			a.places.Store(now.with(added))
			return added
		}
	}
	if a.others == nil {
		a.others = map[string]*account{}
	}
	if a.others[p.service] == nil {
		a.others[p.service] = newAccount(place{service: p.service, table: other})
	}
	return a.others[p.service]
}

// admit reports whether a principal has accounts of its own. mu must be held.
func (a *accounts) admit(principal string) bool {
	if principal == "" || a.principals[principal] {
		return true
	}
	if len(principal) > maxName || len(a.principals) >= maxPrincipals {
		return false
	}
	if a.principals == nil {
		a.principals = map[string]bool{}
	}
	a.principals[principal] = true
	return true
}

// all returns all accounts.
func (a *accounts) all() []*account {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := slices.Collect(maps.Values(a.others))
	if now := a.places.Load(); now != nil {
		list = append(list, now.accounts...)
	}
	return list
}
