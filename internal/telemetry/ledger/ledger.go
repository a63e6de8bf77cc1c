// Package ledger accounts for the use of origins that charge for each request: the capacity units
// that requests have consumed there, the units and the time that answers from memory have saved,
// and the units spent on answers that were stored and never used again. Figures are kept by hour
// for [Retention], in memory and in a file.
package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Retention is how long figures are kept.
const Retention = 30 * 24 * time.Hour

// interval is the time between two collections. A figure may be counted for the hour in which it
// is collected instead of the one before.
const interval = time.Minute

// Ledger holds the figures of all services. Requests add to counters of their account; from there
// a goroutine collects them into hours.
type Ledger struct {
	services atomic.Pointer[map[string]Price] // that are accounted for, with their prices; replaced as a whole
	accounts accounts
	log      *slog.Logger
	stop     context.CancelFunc
	ended    chan struct{}

	mu     sync.Mutex // held while figures are collected; acquired before accounts.mu
	hours  hours
	file   *file // nil: they are kept in memory only
	failed bool  // the file could not be written
}

// Open returns a ledger that continues the figures in a file, or has none if name is empty. The
// file is made if it does not exist. No other process may use it meanwhile.
func Open(name string, log *slog.Logger) (*Ledger, error) {
	l := &Ledger{log: log, ended: make(chan struct{}), hours: hours{}}
	l.services.Store(&map[string]Price{})
	if name != "" {
		var err error
		if l.file, err = openFile(name); err != nil {
			return nil, err
		}
		if l.hours, err = l.file.load(time.Now()); err != nil {
			l.file.close()
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(ctx)
	return l, nil
}

// Configure sets the services that are accounted for, each with the price of its origin.
func (l *Ledger) Configure(services map[string]Price) { l.services.Store(&services) }

// Tap returns a sink that accounts for the requests of records and passes them on to next.
func (l *Ledger) Tap(next telemetry.Sink) telemetry.Sink { return &tap{next, l} }

type tap struct {
	telemetry.Sink
	ledger *Ledger
}

// Log accounts for r and passes it on.
func (t *tap) Log(r *telemetry.Record) {
	if len(r.Table) > 0 {
		if _, accounted := (*t.ledger.services.Load())[r.Service]; accounted {
			t.ledger.accounts.ofRecord(r).count(r)
		}
	}
	t.Sink.Log(r)
}

// Use is the capacity that a request has consumed at its origin, in halves of a unit. Index is the
// index that consumed it, if it was not the table. Filled is the price of an answer to be stored.
type Use struct {
	Service, Table, Index, Operation, Principal string
	Shape                                       *telemetry.Shape
	Read, Write, Filled                         uint64
}

// Used adds the capacity that a request has consumed.
func (l *Ledger) Used(u Use) {
	c := l.accounts.ofUse(&u).line()
	c.read.Add(u.Read)
	c.write.Add(u.Write)
	c.filled.Add(u.Filled)
}

// run collects figures until ctx ends.
func (l *Ledger) run(ctx context.Context) {
	defer close(l.ended)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			l.collect(now)
		}
	}
}

// collect adds the figures since the last collection to the hour of now, and writes the file.
func (l *Ledger) collect(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather(now)
	if l.file == nil {
		return
	}
	err := l.file.write(l.hours, now)
	if failed := err != nil; failed != l.failed {
		l.failed = failed
		if failed {
			l.log.Error("the ledger can't be written; its figures remain in memory", "file", l.file.name, "error", err)
		} else {
			l.log.Info("the ledger is written again", "file", l.file.name)
		}
	}
}

// gather adds the figures since the last collection to the hour of now, and drops hours that are
// too old. mu must be held.
func (l *Ledger) gather(now time.Time) {
	h := hourOf(now)
	for _, a := range l.accounts.all() {
		if d := a.sinceLast(); d != (Figures{}) {
			l.hours.add(h, a.Account, d)
		}
	}
	l.hours.expire(now)
}

// Close collects the last figures, writes them and releases the file. Requests may still be added,
// without effect.
func (l *Ledger) Close() {
	l.stop()
	<-l.ended
	l.collect(time.Now())
	if l.file != nil {
		l.file.close()
	}
}
