package dax

import (
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// settings are what a reload may change. They are replaced as a whole, never changed.
type settings struct {
	Config
	limits Limits
	log    telemetry.Sink
	rates  edge.Rates
}

func newSettings(cfg Config, old *settings) *settings {
	set := &settings{Config: cfg, limits: cfg.Limits.withDefaults(), log: cfg.Log}
	if set.log == nil {
		set.log = telemetry.Discard()
	}
	var rates edge.Rates
	if old != nil {
		rates = old.rates
	}
	set.rates = rates.With(cfg.Limits.RequestsPerSecond)
	return set
}
