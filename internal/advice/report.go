package advice

import (
	"fmt"
	"math"
	"strconv"
)

// Report is the result of all rules.
type Report struct {
	Suggestions []Suggestion `json:"suggestions"`
	Memory      []Estimate   `json:"memory"`
}

// Suggestion is a change of the configuration that may be of use.
type Suggestion struct {
	Rule    string `json:"rule"`
	Service string `json:"service,omitempty"` // empty for the shared memory
	Table   string `json:"table,omitempty"`
	Finding string `json:"finding"` // a sentence with the figures
	Setting string `json:"setting"` // YAML from the top of the file, a line for each of its keys
	Effect  string `json:"effect"`  // the expected effect
	Basis   string `json:"basis"`   // how it was estimated
	// Coherence is the promise that the setting weakens; empty if there is none.
	Coherence string `json:"coherence,omitempty"`
}

// Estimate has the hit ratios that a memory would have with other sizes.
type Estimate struct {
	Service  string `json:"service,omitempty"` // empty for the shared memory
	Capacity uint64 `json:"capacity"`
	Lookups  uint64 `json:"lookups"`
	Sampled  uint64 `json:"sampled"`
	Enough   bool   `json:"enough"` // there were enough look-ups for an estimate
	// HitRatio is the present one of look-ups, the others are estimates; null if not Enough.
	HitRatio *float64 `json:"hit_ratio"`
	Half     *float64 `json:"hit_ratio_at_half"`
	Double   *float64 `json:"hit_ratio_at_double"`
}

// What a rule needs at least.
const (
	minReads   = 1000   // of a table or a service
	minLookups = 10_000 // of a memory
	minKeys    = 100    // in the sample, unless the memory is not full
)

// Make applies all rules.
func Make(in *Input) Report {
	r := Report{Suggestions: []Suggestion{}, Memory: []Estimate{}}
	for i := range in.Memories {
		m := &in.Memories[i]
		r.Memory = append(r.Memory, m.estimate())
		if m.enough() {
			r.add(tooSmall(m))
			r.add(tooLarge(m))
		}
	}
	for i := range in.Services {
		s := &in.Services[i]
		if s.Type == "http" && s.Decisions.reads() >= minReads {
			r.add(shortFreshness(s))
		}
		for t := range s.Tables {
			t := &s.Tables[t]
			for _, rule := range tableRules {
				r.add(rule(s.Name, t))
			}
		}
	}
	return r
}

func (r *Report) add(s *Suggestion) {
	if s != nil {
		r.Suggestions = append(r.Suggestions, *s)
	}
}

func (m *Memory) enough() bool {
	return m.Lookups >= minLookups && m.Sampled > 0 && (m.Keys >= minKeys || m.Evictions == 0)
}

func (m *Memory) estimate() Estimate {
	e := Estimate{Service: m.Service, Capacity: m.Capacity, Lookups: m.Lookups, Sampled: m.Sampled, Enough: m.enough()}
	if e.Enough {
		e.HitRatio, e.Half, e.Double = rounded(m.HitRatio), rounded(m.Half), rounded(m.Double)
	}
	return e
}

func rounded(ratio float64) *float64 {
	ratio = math.Round(ratio*1000) / 1000
	return &ratio
}

func percent(ratio float64) string { return strconv.FormatFloat(ratio*100, 'f', 1, 64) + "%" }

// serviceSetting returns the line that sets a key of a service.
func serviceSetting(service, key, value string) string {
	return fmt.Sprintf("services: {%q: {%s: %s}}", service, key, value)
}

// size returns a number of bytes as it is written in a configuration, rounded up to MiB.
func size(bytes uint64) string {
	const mib = 1 << 20
	n := (bytes + mib - 1) / mib
	if n%1024 == 0 && n > 0 {
		return strconv.FormatUint(n/1024, 10) + "GiB"
	}
	return strconv.FormatUint(max(1, n), 10) + "MiB"
}
