package telemetry

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the series behind /metrics. Repeated calls with the same name and labels
// return the same counter or histogram, so that counts continue when a reload rebuilds a
// service; a gauge or counter function is replaced by the newer one.
//
// A reload works on a [Registry.Stage]: the functions of services that are being built take
// effect with Commit, and Rollback removes them. [Registry.Unregister] removes the series of
// a service that was removed.
//
// All methods lock and are meant for start and reload, not for the path of a request. The
// returned counters and histograms have no locks.
type Registry struct {
	mu       sync.Mutex // leaf: never held while a gauge's function runs
	families map[string]*family

	// A stage reads through to its parent until it is committed or rolled back; afterwards
	// every call is passed to the parent. parent never changes.
	parent  *Registry
	settled bool
}

type kind uint8

const (
	kindCounter kind = iota
	kindGauge
	kindCounterFunc
	kindHistogram
	kindAgeHistogram
)

func (k kind) String() string {
	return [...]string{"counter", "gauge", "counter function", "histogram", "histogram of ages"}[k]
}

type family struct {
	name, help string
	kind       kind
	series     map[string]*series // by the joined label pairs
}

type series struct {
	labels    []string // name, value, name, value, ...
	desc      *prometheus.Desc
	values    []string
	counter   *Counter
	histogram *Histogram
	f         func() float64
}

// NewRegistry returns a registry without series.
func NewRegistry() *Registry {
	return &Registry{families: make(map[string]*family)}
}

// Counter returns the counter of that name and these labels (name, value pairs), creating it
// if necessary. The name starts with kasoku_ and ends with _total. It panics if the name is
// already used for another kind.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return r.obtain(kindCounter, name, help, labels).counter
}

// Histogram returns the histogram of that name and these labels, creating it if necessary.
// The name ends with _seconds.
func (r *Registry) Histogram(name, help string, labels ...string) *Histogram {
	return r.obtain(kindHistogram, name, help, labels).histogram
}

// AgeHistogram is [Registry.Histogram] with bounds that are a thousand times as long.
func (r *Registry) AgeHistogram(name, help string, labels ...string) *Histogram {
	return r.obtain(kindAgeHistogram, name, help, labels).histogram
}

// Gauge exposes the result of f at each scrape. f must be cheap, must not block, and must be
// safe for concurrent use; it replaces an earlier f of the same series.
func (r *Registry) Gauge(name, help string, f func() float64, labels ...string) {
	r.replace(kindGauge, name, help, f, labels)
}

// CounterFunc is [Registry.Gauge] for a number that only grows and is counted elsewhere.
func (r *Registry) CounterFunc(name, help string, f func() float64, labels ...string) {
	r.replace(kindCounterFunc, name, help, f, labels)
}

// Unregister removes every series that has all these label pairs, such as ("service",
// "orders"). Counters still in use continue to work but are no longer exposed.
func (r *Registry) Unregister(labels ...string) {
	r = r.target()
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, f := range r.families {
		maps.DeleteFunc(f.series, func(_ string, s *series) bool { return s.has(labels) })
		if len(f.series) == 0 {
			delete(r.families, name)
		}
	}
}

// Stage returns a registry for building services that may never run. Series of r are visible
// in it; new series are not visible in r until [Registry.Commit]. Afterwards it is
// equivalent to r.
func (r *Registry) Stage() *Registry {
	s := NewRegistry()
	s.parent = r.target()
	return s
}

// Commit adds a stage's series to its parent. If the parent has meanwhile created the same
// counter, the parent's is kept.
func (r *Registry) Commit() {
	p := r.settle().target()
	for _, f := range r.families {
		for _, s := range f.series {
			p.adopt(f, s)
		}
	}
}

// Rollback discards everything added to a stage.
func (r *Registry) Rollback() { r.settle() }

func (r *Registry) settle() (parent *Registry) {
	if r.parent == nil {
		panic("telemetry: Commit or Rollback of a registry that is no stage")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled {
		panic("telemetry: stage settled twice")
	}
	r.settled = true
	return r.parent
}

// target returns the registry that executes a call: for a stage of a stage, the outermost
// one's parent once both are settled.
func (r *Registry) target() *Registry {
	for r.parent != nil && r.isSettled() {
		r = r.parent
	}
	return r
}

func (r *Registry) isSettled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settled
}

func (r *Registry) obtain(k kind, name, help string, labels []string) *series {
	r = r.target()
	for p := r.parent; p != nil; p = p.parent {
		if s := p.lookup(k, name, labels); s != nil {
			return s
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.family(k, name, help)
	id := strings.Join(labels, "\x00")
	if s := f.series[id]; s != nil {
		return s
	}
	s := newSeries(f, labels)
	f.series[id] = s
	return s
}

func (r *Registry) replace(k kind, name, help string, fn func() float64, labels []string) {
	r = r.target()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.family(k, name, help)
	s := newSeries(f, labels)
	s.f = fn
	f.series[strings.Join(labels, "\x00")] = s
}

func (r *Registry) lookup(k kind, name string, labels []string) *series {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.families[name]
	if f == nil {
		return nil
	}
	f.mustBe(k)
	return f.series[strings.Join(labels, "\x00")]
}

func (r *Registry) adopt(from *family, s *series) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.family(from.kind, from.name, from.help)
	id := strings.Join(s.labels, "\x00")
	if s.f != nil || f.series[id] == nil {
		f.series[id] = s
	}
}

// family returns the family of that name; r.mu is held.
func (r *Registry) family(k kind, name, help string) *family {
	f := r.families[name]
	if f == nil {
		if !strings.HasPrefix(name, "kasoku_") {
			panic("telemetry: metric name without kasoku_: " + name)
		}
		f = &family{name: name, help: help, kind: k, series: make(map[string]*series)}
		r.families[name] = f
	}
	f.mustBe(k)
	return f
}

func (f *family) mustBe(k kind) {
	if f.kind != k {
		panic(fmt.Sprintf("telemetry: %s is a %s, requested as a %s", f.name, f.kind, k))
	}
}

func newSeries(f *family, labels []string) *series {
	if len(labels)%2 != 0 {
		panic("telemetry: odd number of label strings for " + f.name)
	}
	s := &series{labels: slices.Clone(labels)}
	var names []string
	for i := 0; i < len(labels); i += 2 {
		names = append(names, labels[i])
		s.values = append(s.values, labels[i+1])
	}
	s.desc = prometheus.NewDesc(f.name, f.help, names, nil)
	switch f.kind {
	case kindCounter:
		s.counter = NewCounter()
	case kindHistogram:
		s.histogram = newHistogram(durations)
	case kindAgeHistogram:
		s.histogram = newHistogram(ages)
	}
	return s
}

// has reports whether s carries every one of the label pairs.
func (s *series) has(pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		found := false
		for j := 0; j < len(s.labels); j += 2 {
			found = found || s.labels[j] == pairs[i] && s.labels[j+1] == pairs[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// Handler answers a scrape with r's series and the series of the Go runtime and the
// process.
func (r *Registry) Handler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(r, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Describe sends nothing: the series change with the services, which makes this an unchecked
// collector for client_golang.
func (r *Registry) Describe(chan<- *prometheus.Desc) {}

// Collect sends every series.
func (r *Registry) Collect(ch chan<- prometheus.Metric) {
	for _, s := range r.all() {
		ch <- s.metric()
	}
}

type member struct {
	*series
	kind kind
}

func (r *Registry) all() []member {
	r = r.target()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []member
	for _, f := range r.families {
		for _, s := range f.series {
			list = append(list, member{s, f.kind})
		}
	}
	return list
}

func (m member) metric() prometheus.Metric {
	switch m.kind {
	case kindCounter:
		return prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.counter.Value()), m.values...)
	case kindCounterFunc:
		return prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, m.f(), m.values...)
	case kindGauge:
		return prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, m.f(), m.values...)
	}
	return &exposed{m.desc, m.values, m.histogram}
}

// Families returns the current names, sorted, with their kind and help. The manual's list is
// checked against it.
func (r *Registry) Families() []FamilyInfo {
	r = r.target()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]FamilyInfo, 0, len(r.families))
	for _, f := range r.families {
		info := FamilyInfo{Name: f.name, Help: f.help, Type: "counter"}
		switch f.kind {
		case kindGauge:
			info.Type = "gauge"
		case kindHistogram, kindAgeHistogram:
			info.Type = "histogram"
		}
		for _, s := range f.series {
			for i := 0; i < len(s.labels); i += 2 {
				if !slices.Contains(info.Labels, s.labels[i]) {
					info.Labels = append(info.Labels, s.labels[i])
				}
			}
		}
		slices.Sort(info.Labels)
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b FamilyInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// FamilyInfo describes one metric name.
type FamilyInfo struct {
	Name, Type, Help string
	Labels           []string // names, sorted
}
