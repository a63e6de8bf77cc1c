package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Overview is the state of the whole process.
type Overview struct {
	Version   string
	Started   time.Time
	Now       time.Time
	Draining  bool // shutting down; requests in flight are completed
	Services  []Mounted
	Cluster   Cluster // nil if this process is in none
	AccessLog telemetry.LogStats
	Config    ConfigStatus
}

// Mounted is a service with its listener.
type Mounted struct {
	Service
	Listen      string
	TLS         bool
	Connections int  // open now
	Accepting   bool // the listener is up
	DAX         *Listener
	Warmer      Warmer // nil if its cache can't be filled ahead of requests now
	Store       Store  // nil if it has no embedded store
	// Tables returns the figures of the tables; nil if they are not counted.
	Tables func() []Table
	// Times returns the times of requests that were served from memory, and the times that requests
	// waited for the origin; nil if they are not counted.
	Times func() (hits, origin telemetry.Snapshot)
	// Traffic returns what clients saw of the service; nil if it is not measured.
	Traffic func() Traffic
	// Throttled returns the tables that the origin has throttled; nil if that is not counted.
	Throttled func() []ThrottledTable
}

// Listener is another listener of a service.
type Listener struct {
	Address     string `json:"listen"`
	TLS         bool   `json:"tls"`
	Accepting   bool   `json:"accepting"`
	Connections int    `json:"connections"` // open now
}

// ConfigStatus is the state of the configuration file.
type ConfigStatus struct {
	File     string          `json:"file"`
	Loaded   time.Time       `json:"loaded"`             // when the running configuration was read
	Tried    time.Time       `json:"tried"`              // when the file was last read, successfully or not
	Problems []string        `json:"problems,omitempty"` // why the last attempt changed nothing
	Pending  []string        `json:"pending,omitempty"`  // keys whose new value requires a restart
	Running  json.RawMessage `json:"running"`            // with every default, without secrets
}

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, `kasoku

GET  /metrics               for Prometheus
GET  /healthz               200 while the process lives
GET  /readyz                200 while requests can be answered
GET  /api/v1/report         one page about everything; ?format=json
GET  /api/v1/services       the services
GET  /api/v1/config         the configuration that runs, and the last reload
GET  /api/v1/events         requests each second as server-sent events
GET  /api/v1/history        requests and hit ratio over time; ?service=NAME&since=1h or 24h
GET  /api/v1/log            requests as they end; ?q=FILTER&n=NUMBER
GET  /api/v1/keys           the keys with the most requests; ?service=&table=&by=&n=&since=start
GET  /api/v1/ledger         capacity used and saved; ?since=24h&by=table
GET  /api/v1/advice         suggested settings, and hit ratios with other amounts of memory
POST /api/v1/explain        how a request would be answered
POST /api/v1/purge          drop entries from the cache
POST /api/v1/warm           fill the cache ahead of requests
GET  /api/v1/verify         comparisons of cached answers with the origin; ?service=NAME
POST /api/v1/verify/run     make comparisons
POST /api/v1/drain          let an origin have no new requests, or have them again
POST /api/v1/store/reset    remove all tables of an embedded store
POST /api/v1/store/snapshot save it under a name; /restore, /remove, /list
POST /api/v1/faults         inject faults into an embedded store; /add, /split, /clear, /list
GET  /api/v1/ring           which memcached server has a key; ?service=NAME&key=KEY
GET  /api/v1/cluster        the members of the cluster
POST /api/v1/cluster/evict  take a node out of the cluster
`)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// ready answers 200 if every listener is up, the process is not stopping, at least one
// service is ready, and in a cluster this node serves. The outage of one origin does not make a node unready: other services
// and everything cached are still served. A witness of a cluster has no services.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	o := s.overview()
	lines, status := readiness(&o)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}

func readiness(o *Overview) (lines []string, status int) {
	status = http.StatusOK
	if o.Draining {
		return []string{"not ready: stopping"}, http.StatusServiceUnavailable
	}
	if o.Cluster != nil {
		st := o.Cluster.Status()
		trouble := st.trouble()
		if trouble != "" {
			status = http.StatusServiceUnavailable
		}
		lines = append(lines, fmt.Sprintf("node %s of cluster %s: %s", st.Node, st.Name, cmp.Or(trouble, string(st.State))))
	}
	able := 0
	for _, m := range o.Services {
		if !m.Accepting {
			status = http.StatusServiceUnavailable
			lines = append(lines, m.Name()+": its listener is not up")
			continue
		}
		if m.DAX != nil && !m.DAX.Accepting {
			status = http.StatusServiceUnavailable
			lines = append(lines, m.Name()+": its listener for clients of DAX is not up")
			continue
		}
		if err := m.Ready(); err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", m.Name(), err))
			continue
		}
		able++
		lines = append(lines, m.Name()+": ready")
	}
	if witness := o.Cluster != nil && o.Cluster.Status().State == NodeWitness; able == 0 && !witness {
		status = http.StatusServiceUnavailable
	}
	head := "ready"
	if status != http.StatusOK {
		head = "not ready"
	}
	return append([]string{head}, lines...), status
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	o := s.overview()
	format, histograms := r.URL.Query().Get("format"), r.URL.Query().Get("histograms")
	switch {
	case histograms != "" && histograms != "1":
		fail(w, http.StatusBadRequest, "histograms is 1 or left out, not %q", histograms)
	case format == "json" || format == "" && strings.Contains(r.Header.Get("Accept"), "application/json"):
		j := o.JSON()
		if histograms != "" {
			j.AddHistograms()
		}
		answer(w, http.StatusOK, j)
	case format == "" || format == "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		page := bytes.NewBuffer(o.Text())
		statementOf(page, s.ledger)
		a := s.advice()
		adviceOf(page, &a)
		_, _ = w.Write(page.Bytes())
	default:
		fail(w, http.StatusBadRequest, "format is text or json, not %q", format)
	}
}

func (s *Server) services(w http.ResponseWriter, _ *http.Request) {
	o := s.overview()
	answer(w, http.StatusOK, o.JSON().Services)
}

func (s *Server) config(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.overview().Config)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	var req ExplainRequest
	if !take(w, r, &req) {
		return
	}
	svc := s.find(w, req.Service)
	if svc == nil {
		return
	}
	e, err := svc.Explain(r.Context(), req)
	if err != nil {
		s.failed(w, "explain", err)
		return
	}
	if c := s.overview().Cluster; c != nil {
		e.Steps = append([]Step{status(c).step()}, e.Steps...)
	}
	answer(w, http.StatusOK, e)
}

// find returns the service of that name, or answers the request with an error and returns
// nil.
func (s *Server) find(w http.ResponseWriter, name string) Service {
	o := s.overview()
	i := slices.IndexFunc(o.Services, func(m Mounted) bool { return m.Name() == name })
	if i >= 0 {
		return o.Services[i].Service
	}
	names := make([]string, len(o.Services))
	for i, m := range o.Services {
		names[i] = m.Name()
	}
	fail(w, http.StatusNotFound, "there is no service %q; there are: %s", name, strings.Join(names, ", "))
	return nil
}

func (s *Server) failed(w http.ResponseWriter, what string, err error) {
	if errors.Is(err, ErrInput) {
		fail(w, http.StatusBadRequest, "%v", err)
		return
	}
	s.log.Error("an administrator's request failed", "request", what, "error", err)
	fail(w, http.StatusInternalServerError, "%v", err)
}
