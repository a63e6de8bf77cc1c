package advice

import "fmt"

const (
	worthwhile = 0.02  // a gain of the hit ratio that is worth twice the memory
	harmless   = 0.005 // a loss of it that half of the memory may cost
)

// basis describes the estimates of package cache.
func (m *Memory) basis() string {
	return fmt.Sprintf("simulated caches of other sizes, for a sample of the keys: %d of %d look-ups; its error is usually below 1%%, at most 3%%",
		m.Sampled, m.Lookups)
}

// setting returns the lines that set the memory. The part of a service is one of the whole, which
// grows with it.
func (m *Memory) setting(bytes uint64) string {
	switch own := serviceSetting(m.Service, "memory", size(bytes)); {
	case m.Service == "":
		return fmt.Sprintf("cache: {memory: %s}", size(bytes))
	case bytes > m.Limit:
		return fmt.Sprintf("cache: {memory: %s}\n%s", size(m.Whole+bytes-m.Limit), own)
	default:
		return own
	}
}

// tooSmall suggests twice the memory for entries.
func tooSmall(m *Memory) *Suggestion {
	if m.Evictions == 0 || m.Double-m.HitRatio < worthwhile {
		return nil
	}
	return &Suggestion{
		Rule: "memory-too-small", Service: m.Service,
		Finding: fmt.Sprintf("The memory is full: %d entries were evicted, and %s of the look-ups find one.", m.Evictions, percent(m.HitRatio)),
		Setting: m.setting(m.Limit + m.Capacity),
		Effect:  fmt.Sprintf("%s of the look-ups find an entry", percent(m.Double)),
		Basis:   m.basis(),
	}
}

// tooLarge suggests half of the memory for entries.
func tooLarge(m *Memory) *Suggestion {
	const least = 64 << 20 // less is not worth a change
	if m.Limit < least || m.Bytes < m.Capacity/2 || m.HitRatio-m.Half > harmless || m.Double-m.HitRatio >= worthwhile {
		return nil
	}
	return &Suggestion{
		Rule: "memory-too-large", Service: m.Service,
		Finding: fmt.Sprintf("More than half of the memory is used, but half of it has nearly the same hits: %s of the look-ups find an entry now.", percent(m.HitRatio)),
		Setting: m.setting(m.Limit - m.Capacity/2),
		Effect:  fmt.Sprintf("%s of the look-ups find an entry, and %s are free for other uses", percent(m.Half), size(m.Capacity/2)),
		Basis:   m.basis(),
	}
}
