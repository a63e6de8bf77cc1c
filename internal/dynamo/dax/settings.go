package dax

import (
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/dax/sign"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// settings are the part of the configuration that a reload can change. They are immutable
// and replaced as a whole.
type settings struct {
	Config
	limits   Limits
	log      telemetry.Sink
	rates    listener.Rates
	verifier *sign.Verifier // nil: open
	// keySet identifies the set of keys. A client authenticated under another set must
	// authenticate again.
	keySet uint64
}

func newSettings(cfg Config, old *settings) *settings {
	set := &settings{Config: cfg, limits: cfg.Limits.withDefaults(), log: cfg.Log}
	if set.log == nil {
		set.log = telemetry.Discard()
	}
	if !cfg.Open {
		set.verifier = sign.New(cfg.Region, cfg.Keys)
	}
	var rates listener.Rates
	if old != nil {
		rates, set.keySet = old.rates, old.keySet
		if old.Open != cfg.Open || old.Region != cfg.Region || !slices.Equal(old.Keys, cfg.Keys) {
			set.keySet++
		}
	}
	set.rates = rates.With(cfg.Limits.RequestsPerSecond)
	return set
}
