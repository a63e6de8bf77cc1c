package telemetry

// SumCounters returns the sum of the counters of a name that have all these label pairs.
func (r *Registry) SumCounters(name string, labels ...string) (sum uint64) {
	for _, s := range r.matching(kindCounter, name, labels) {
		sum += s.counter.Value()
	}
	return sum
}

// SumHistograms is [Registry.SumCounters] for histograms.
func (r *Registry) SumHistograms(name string, labels ...string) (sum Snapshot) {
	for _, s := range r.matching(kindHistogram, name, labels) {
		one := s.histogram.Snapshot()
		sum.Add(&one)
	}
	return sum
}

// matching returns the series of a name that have all these label pairs.
func (r *Registry) matching(k kind, name string, labels []string) (all []*series) {
	r = r.target()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.families[name]
	if f == nil {
		return nil
	}
	f.mustBe(k)
	for _, s := range f.series {
		if s.has(labels) {
			all = append(all, s)
		}
	}
	return all
}
