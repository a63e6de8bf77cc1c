package fluent

import (
	"context"
	"sync"
)

// delivery sends the batches of a Logger to its servers. It has a sender for each server,
// which takes batches from the source when it is its turn.
type delivery struct {
	o      *options
	report func(Event) // never waits
	roster *roster

	senders []*sender
	running sync.WaitGroup
}

// newDelivery validates the addresses. Nothing runs and nothing is connected before start.
func newDelivery(servers []string, o *options, report func(Event)) (*delivery, error) {
	parsed, err := parseServers(servers, o)
	if err != nil {
		return nil, err
	}
	d := &delivery{o: o, report: report, roster: newRoster(len(parsed), o.balance)}
	for rank, s := range parsed {
		d.senders = append(d.senders, newSender(d, s, rank))
	}
	return d, nil
}

// start begins to deliver batches of src, until ctx ends.
func (d *delivery) start(ctx context.Context, src source) {
	for _, s := range d.senders {
		s.source = src
		d.running.Add(1)
		go func() {
			defer d.running.Done()
			s.run(ctx)
		}()
	}
}

// wait waits, after ctx has ended, until every sender has returned its batches and all
// goroutines have ended.
func (d *delivery) wait() { d.running.Wait() }

// down reports whether no server is up. It is already true when the failure that took the
// last one down returns its batches.
func (d *delivery) down() bool { return d.roster.allDown() }

// states returns the statistics of each server, in the order given to New.
func (d *delivery) states() []ServerStats {
	all := make([]ServerStats, len(d.senders))
	for i, s := range d.senders {
		all[i] = s.stats()
	}
	return all
}
