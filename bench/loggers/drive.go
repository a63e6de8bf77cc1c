package loggers

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// Logger is a client under measurement.
type Logger struct {
	Post  func(record any) error
	Close func() error // sends the remaining records
}

// Options configures a client.
type Options struct {
	Addr string // of the server, host:port
	Ack  bool   // acknowledge each record
	Mode string // a mode of the client, for example async
}

// Result is the result of a measurement, which is printed as JSON.
type Result struct {
	Posted  int           // records that the client accepted
	Refused int           // records that it refused
	Elapsed time.Duration // from the first call to the end of Close
	Calls   time.Duration // until the last call returned
	CPU     time.Duration // of the process during Elapsed
	Allocs  float64       // objects per call
	Bytes   float64       // bytes per call
	P50     time.Duration // of single calls, if they were timed
	P999    time.Duration
	Longest time.Duration
	Peak    uint64 // peak memory of the process in bytes
}

// Main is the main function of a measuring program: it parses the command line, runs the
// client that open returns, and prints a Result.
func Main(open func(Options) (*Logger, error)) {
	var (
		o      Options
		kind   = flag.String("record", "count", "the `kind` of record")
		n      = flag.Int("n", 100_000, "how many records to post")
		rate   = flag.Int("rate", 0, "post so many `records a second`, and time each call; 0 posts as fast as can be")
		warmup = flag.Int("warmup", 1000, "records that are posted before the measurement")
	)
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:24224", "where the server is")
	flag.BoolVar(&o.Ack, "ack", false, "have records acknowledged")
	flag.StringVar(&o.Mode, "mode", "", "a mode of the client's own")
	flag.Parse()
	if err := run(open, o, *kind, *n, *rate, *warmup); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(open func(Options) (*Logger, error), o Options, kind string, n, rate, warmup int) error {
	records := Records[kind]
	if records == nil {
		return fmt.Errorf("unknown kind of record %q", kind)
	}
	l, err := open(o)
	if err != nil {
		return err
	}
	for i := range warmup {
		if err := l.Post(records()(i)); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	var r Result
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begin := processTime(), time.Now()
	if rate > 0 {
		r.pace(l, records(), n, rate)
	} else {
		r.post(l, records(), n)
	}
	r.Calls = time.Since(begin)
	runtime.ReadMemStats(&after)
	err = l.Close()
	r.Elapsed, r.CPU = time.Since(begin), processTime()-cpu
	r.Allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	r.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	r.Peak = peak()
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(r))
}

// post posts records as fast as the client accepts them.
func (r *Result) post(l *Logger, record func(int) any, n int) {
	for i := range n {
		if err := l.Post(record(i)); err != nil {
			r.Refused++
		} else {
			r.Posted++
		}
	}
}

// pace posts at a rate, in bursts every millisecond, and times each call.
func (r *Result) pace(l *Logger, record func(int) any, n, rate int) {
	took := make([]time.Duration, 0, n)
	begin := time.Now()
	for i := range n {
		if due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate)); time.Until(due) > time.Millisecond {
			time.Sleep(time.Until(due))
		}
		x, called := record(i), time.Now()
		err := l.Post(x)
		took = append(took, time.Since(called))
		if err != nil {
			r.Refused++
		} else {
			r.Posted++
		}
	}
	slices.Sort(took)
	r.P50, r.P999, r.Longest = took[n/2], took[n-1-n/1000], took[n-1]
}
