package transfer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
)

// Config are the settings of a run.
type Config struct {
	Endpoint *Endpoint        // the store to write to, or to dump
	From     *Endpoint        // the store to copy from
	Tables   []string         // to copy or dump, all if it is empty; to load, the only table or none
	Parallel int              // concurrent batches of writes
	Segments int              // concurrent segments of scans
	GiveUp   time.Duration    // the time without success after which a request is given up
	State    string           // the file with the state; empty for the default
	CSV      CSV              // options of CSV files
	Rules    *anonymise.Rules // nil to leave values as they are

	Consistent bool // strongly consistent reads
	KeepGoing  bool // report records that can't be written, and go on

	// Report is called with messages: records that can't be written, files that are skipped.
	Report func(message string)
	// Progress is called often, with the counts so far.
	Progress func(Totals)

	mu sync.Mutex // held during calls of the functions
}

// The defaults of the settings.
const (
	DefaultParallel = 8
	DefaultSegments = 4
	DefaultGiveUp   = 2 * time.Minute
)

// setDefaults fills in settings that were left out.
func (c *Config) setDefaults() {
	c.Parallel = cmp.Or(c.Parallel, DefaultParallel)
	c.Segments = cmp.Or(c.Segments, DefaultSegments)
	c.GiveUp = cmp.Or(c.GiveUp, DefaultGiveUp)
}

func (c *Config) report(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Report != nil {
		c.Report(message)
	}
}

func (c *Config) progress(counters *counters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Progress != nil {
		c.Progress(counters.totals())
	}
}

// plan returns the rules for a table.
func (c *Config) plan(t *table) (*anonymise.Plan, error) {
	if c.Rules == nil {
		return new(anonymise.Plan), nil
	}
	return c.Rules.Table(t.name, t.keyNames())
}

// settings returns a text that differs between runs that can't continue each other.
func (c *Config) settings(kind string, more ...any) string {
	all := []any{kind, c.Endpoint.Name(), c.Tables, c.CSV, more}
	if c.Rules != nil {
		all = append(all, c.Rules.Digest())
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// caller returns a caller for an endpoint.
func (c *Config) caller(e *Endpoint, counters *counters) *caller {
	return &caller{Endpoint: e, send: e.Call, giveUp: c.GiveUp, retries: &counters.retries}
}
