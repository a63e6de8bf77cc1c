package admin

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
)

// ReportJSON is an [Overview] for programs.
type ReportJSON struct {
	Version   string             `json:"version"`
	Started   time.Time          `json:"started"`
	Uptime    float64            `json:"uptime_seconds"`
	Draining  bool               `json:"draining"`
	Cluster   *ClusterStatus     `json:"cluster,omitempty"` // nil if this process is in none
	Services  []ServiceJSON      `json:"services"`
	AccessLog telemetry.LogStats `json:"access_log"`
	Config    ConfigStatus       `json:"config"`
	// BucketSeconds are the bounds of the buckets in which times are counted; only with histograms.
	BucketSeconds []float64 `json:"bucket_seconds,omitempty"`
}

// ServiceJSON is the state of a service for programs.
type ServiceJSON struct {
	Name        string `json:"name"`
	Listen      string `json:"listen"`
	TLS         bool   `json:"tls"`
	Accepting   bool   `json:"accepting"`
	Ready       bool   `json:"ready"`
	Trouble     string `json:"trouble,omitempty"`
	Connections int    `json:"connections"`
	// DAX is the listener for DAX clients, if there is one.
	DAX *Listener `json:"dax,omitempty"`
	Report
	Decisions map[string]uint64 `json:"decisions"`
	HitRatio  *float64          `json:"hit_ratio"` // null before the first read
	Latencies
	// Tables have had requests; they are in descending order of requests.
	Tables []Table `json:"tables,omitempty"`
	// Throttled are the tables with requests that the origin has throttled in the last 5 minutes.
	Throttled []ThrottledTable `json:"throttled,omitempty"`
}

// JSON returns the overview for programs.
func (o *Overview) JSON() ReportJSON {
	j := ReportJSON{
		Version: o.Version, Started: o.Started, Uptime: o.Now.Sub(o.Started).Seconds(), Draining: o.Draining,
		Services: []ServiceJSON{}, AccessLog: o.AccessLog, Config: o.Config,
	}
	if o.Cluster != nil {
		j.Cluster = status(o.Cluster)
	}
	for _, m := range o.Services {
		s := ServiceJSON{
			Name: m.Name(), Listen: m.Listen, TLS: m.TLS, Accepting: m.Accepting, Connections: m.Connections, DAX: m.DAX,
			Report: m.Report(), Decisions: map[string]uint64{},
		}
		if err := m.Ready(); err != nil {
			s.Trouble = err.Error()
		}
		if m.Tables != nil {
			s.Tables = busiest(m.Tables())
		}
		if m.Times != nil {
			s.Latencies = newLatencies(m.Times())
		}
		if m.Throttled != nil {
			s.Throttled = m.Throttled()
		}
		s.Ready = s.Accepting && (s.DAX == nil || s.DAX.Accepting) && s.Trouble == ""
		for d, n := range s.Report.Decisions {
			s.Decisions[d.String()] = n
		}
		if ratio, ok := HitRatio(s.Report.Decisions); ok {
			s.HitRatio = &ratio
		}
		j.Services = append(j.Services, s)
	}
	return j
}

// AddHistograms adds the counts that the quantiles are computed from, so that a program can compute
// those of the time between two reports.
func (j *ReportJSON) AddHistograms() {
	for _, bound := range telemetry.Buckets {
		j.BucketSeconds = append(j.BucketSeconds, bound.Seconds())
	}
	for i := range j.Services {
		s := &j.Services[i]
		s.addBuckets()
		for t := range s.Tables {
			s.Tables[t].addBuckets()
		}
	}
}

// HitRatio returns the share of cacheable reads that were answered from the cache.
func HitRatio(counts map[telemetry.Decision]uint64) (float64, bool) {
	r := history.Count(counts)
	return history.HitRatio(r.Hits, r.Misses)
}

// Text returns the overview as an aligned page.
func (o *Overview) Text() []byte {
	j := o.JSON()
	var b bytes.Buffer
	fmt.Fprintf(&b, "kasoku %s, up %s", o.Version, o.Now.Sub(o.Started).Round(time.Second))
	if o.Draining {
		b.WriteString(", stopping")
	}
	fmt.Fprintf(&b, "\nconfiguration %s of %s", orDash(o.Config.File), o.Config.Loaded.UTC().Format(time.DateTime))
	if len(o.Config.Problems) > 0 {
		fmt.Fprintf(&b, "; the one read at %s was not taken:\n  %s", o.Config.Tried.UTC().Format(time.DateTime),
			strings.Join(o.Config.Problems, "\n  "))
	}
	for _, p := range o.Config.Pending {
		fmt.Fprintf(&b, "\n  waits for a restart: %s", p)
	}
	accessLog(&b, &o.AccessLog)
	if j.Cluster != nil {
		b.WriteByte('\n')
		j.Cluster.WriteTable(&b, o.Now)
	}
	table(&b, "SERVICE\tTYPE\tLISTEN\tTLS\tCONNS\tHIT%\tSTATE", j.Services, func(s *ServiceJSON) string {
		row := join(s.Name, s.Type, s.Listen, yes(s.TLS), strconv.Itoa(s.Connections), percent(s.HitRatio), state(s))
		if d := s.DAX; d != nil {
			row += "\n" + join(s.Name, "dax", d.Address, yes(d.TLS), strconv.Itoa(d.Connections), "", up(d.Accepting))
		}
		return row
	})
	memory(&b, j.Services)
	disk(&b, j.Services)
	table(&b, "ORIGIN\tBREAKER\tLIMIT\tIN FLIGHT\tQUEUED\tREQUESTS\tRETRIES\tURL", j.Services, func(s *ServiceJSON) string {
		o := s.Origin
		return join(s.Name, o.Breaker, strconv.Itoa(o.Limit), strconv.Itoa(o.InFlight), strconv.Itoa(o.Queued),
			count(o.Requests), count(o.Retries), o.URL)
	})
	members(&b, j.Services)
	feeds(&b, j.Services)
	streams(&b, j.Services)
	tables(&b, j.Services)
	throttledTables(&b, j.Services)
	verified(&b, o, j.Services)
	table(&b, "SERVICE\tDECISION\tCOUNT\tSHARE", j.Services, decisions)
	notes(&b, j.Services)
	return b.Bytes()
}

func accessLog(b *bytes.Buffer, l *telemetry.LogStats) {
	fmt.Fprintf(b, "\naccess log: %s written, %s dropped, %s failed", count(l.Written), count(l.Dropped), count(l.Failed))
	if l.Pending > 0 {
		fmt.Fprintf(b, ", %s waiting", count(uint64(l.Pending)))
	}
	if l.Spilled > 0 {
		fmt.Fprintf(b, ", %s on disk (%s)", count(uint64(l.Spilled)), bytesText(uint64(l.SpillBytes)))
	}
	if l.Trouble != "" {
		fmt.Fprintf(b, "\n  %s", l.Trouble)
	}
	b.WriteByte('\n')
}

// table writes a heading and the result of row for each service, aligned.
func table(b *bytes.Buffer, heading string, services []ServiceJSON, row func(*ServiceJSON) string) {
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for i := range services {
		if text := row(&services[i]); text != "" {
			fmt.Fprintln(w, text)
		}
	}
	w.Flush()
}

// memory adds a row for each service with its own cap, and one for the shared memory.
func memory(b *bytes.Buffer, services []ServiceJSON) {
	shown := false
	table(b, "MEMORY\tENTRIES\tBYTES\tCAPACITY\tEVICTIONS", services, func(s *ServiceJSON) string {
		c, name := s.Cache, s.Name
		if c.Shared {
			if shown {
				return ""
			}
			shown, name = true, "(shared)"
		}
		return join(name, count(uint64(c.Entries)), bytesText(c.Bytes), bytesText(c.Capacity), count(c.Evictions))
	})
}

// members adds a row for each of several origins.
func members(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Members) > 0 }) {
		return
	}
	table(b, "MEMBER\tSTATE\tWEIGHT\tIN FLIGHT\tORIGIN", services, func(s *ServiceJSON) string {
		var rows []string
		for _, m := range s.Members {
			rows = append(rows, join(s.Name, m.State, strconv.FormatFloat(m.Weight, 'g', 6, 64), strconv.Itoa(m.InFlight), m.Origin))
		}
		return strings.Join(rows, "\n")
	})
}

// streams adds a row for each stream that is followed.
func streams(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Streams) > 0 }) {
		return
	}
	table(b, "STREAM\tTABLE\tLAG\tSERVED\tREADER\tSHARDS\tTROUBLE", services, func(s *ServiceJSON) string {
		var rows []string
		for i := range s.Streams {
			t := &s.Streams[i]
			reader, shards := t.Reader, ""
			if reader == "" && (t.Lag != nil || !t.Served) {
				reader, shards = "this process", strconv.Itoa(len(t.Shards))
			}
			rows = append(rows, join(s.Name, t.Table, seconds(t.Lag), yes(t.Served), reader, shards, t.Trouble))
		}
		return strings.Join(rows, "\n")
	})
}

func seconds(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', 2, 64) + "s"
}

// disk adds one row, because all services share the disk.
func disk(b *bytes.Buffer, services []ServiceJSON) {
	i := slices.IndexFunc(services, func(s ServiceJSON) bool { return s.Disk != nil })
	if i < 0 {
		return
	}
	table(b, "DISK\tFILES\tBYTES\tCAPACITY\tEVICTIONS\tREFUSED\tDAMAGED", services[i:i+1], func(s *ServiceJSON) string {
		d := s.Disk
		return join("(shared)", count(uint64(d.Files)), bytesText(d.Bytes), bytesText(d.Capacity), count(d.Evictions), count(d.Refused), count(d.Damaged))
	})
}

// decisions adds a row for each decision that was made.
func decisions(s *ServiceJSON) string {
	var rows []string
	var sum uint64
	for _, n := range s.Report.Decisions {
		sum += n
	}
	for _, d := range telemetry.Decisions {
		if n := s.Report.Decisions[d.Decision]; n > 0 {
			share := float64(n) / float64(sum)
			rows = append(rows, join(s.Name, d.Name, count(n), percent(&share)))
		}
	}
	return strings.Join(rows, "\n")
}

func notes(b *bytes.Buffer, services []ServiceJSON) {
	for _, s := range services {
		for i, note := range s.Notes {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(b, "%s: %s\n", s.Name, note)
		}
	}
}

func up(accepting bool) string {
	if !accepting {
		return "listener down"
	}
	return "ready"
}

func state(s *ServiceJSON) string {
	switch {
	case !s.Accepting:
		return up(false)
	case s.Trouble != "":
		return s.Trouble
	}
	return "ready"
}

func join(cells ...string) string {
	for i, c := range cells {
		cells[i] = orDash(c)
	}
	return strings.Join(cells, "\t")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func percent(share *float64) string {
	if share == nil {
		return "-"
	}
	return strconv.FormatFloat(*share*100, 'f', 1, 64)
}

// count abbreviates large numbers: 1234567 becomes 1.23M, for example, and 12345 is
// unchanged.
func count(n uint64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}} {
		if float64(n) >= u.size {
			return strconv.FormatFloat(float64(n)/u.size, 'f', 2, 64) + u.unit
		}
	}
	return strconv.FormatUint(n, 10)
}

func bytesText(n uint64) string {
	for _, u := range []struct {
		unit string
		size uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64) + u.unit
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}
