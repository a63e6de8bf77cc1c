package cli

import (
	"fmt"
	"log/slog"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// openLedger opens the configured ledger, nil if there is none.
func openLedger(c *config.Config, log *slog.Logger) (*ledger.Ledger, error) {
	if c.Ledger == nil {
		return nil, nil
	}
	l, err := ledger.Open(c.Resolve(c.Ledger.File), log)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// configureLedger sets the services of a configuration in the ledger, with their prices.
func (n *Node) configureLedger(c *config.Config) {
	if n.ledger == nil {
		return
	}
	services := map[string]ledger.Price{}
	for i := range c.Services {
		if s := &c.Services[i]; s.DynamoDB != nil {
			services[s.Name] = priceOf(c.Ledger, s.DynamoDB)
		}
	}
	n.ledger.Configure(services)
}

// priceOf returns the price of a service's origin.
func priceOf(l *config.Ledger, d *config.DynamoDB) ledger.Price {
	switch {
	case l != nil && l.Prices != nil:
		return ledger.Price{Read: l.Prices.Read, Write: l.Prices.Write, Currency: l.Prices.Currency}
	case d.Origin.Embedded():
		return ledger.Price{}
	}
	return ledger.PriceOf(d.Region)
}

// pendingLedger returns the keys of the ledger whose new values wait for a restart.
func (n *Node) pendingLedger() []string {
	before, now := n.boot.Ledger, n.cfg.Ledger
	switch {
	case (before == nil) != (now == nil):
		return []string{"ledger"}
	case now != nil && n.boot.Resolve(before.File) != n.cfg.Resolve(now.File):
		return []string{"ledger.file"}
	}
	return nil
}

func (n *Node) closeLedger() {
	if n.ledger != nil {
		n.ledger.Close()
	}
}
