package transfer

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// dumper writes tables as exports.
type dumper struct {
	cfg       *Config
	counters  counters
	caller    *caller
	directory string
	state     stateFile
	totals    Totals // its tables

	mu     sync.Mutex
	tables map[string]*dumpedTable
}

// dumpState is the state of a dump that is not complete.
type dumpState struct {
	stateHead
	Tables map[string]*dumpedTable `json:"tables"`
}

// dumpedTable is the progress of a table.
type dumpedTable struct {
	ID       string          `json:"id"`    // of the export
	Table    string          `json:"table"` // the table's own id, which a new table with its name has not
	Start    time.Time       `json:"start"`
	Complete bool            `json:"complete,omitempty"`
	Segments []dumpedSegment `json:"segments"`
	Bytes    int64           `json:"bytes"` // size of the items as the service counts it
}

// dumpedSegment is the progress of a segment: its files hold everything before its position.
type dumpedSegment struct {
	segment
	Files []manifestFile `json:"files"`
}

// Dump writes tables into a directory: each as an export of AWS in DynamoDB JSON, below
// AWSDynamoDB, and its description in a file with the name of the table. It returns the counts
// also after an error.
func Dump(ctx context.Context, cfg *Config, directory string) (Totals, error) {
	cfg.setDefaults()
	d := &dumper{cfg: cfg, counters: counters{start: time.Now()}, directory: directory, tables: map[string]*dumpedTable{}}
	d.caller = cfg.caller(cfg.Endpoint, &d.counters)
	err := d.run(ctx)
	t := d.counters.totals()
	t.Tables = append(t.Tables, d.totals.Tables...)
	return t, err
}

func (d *dumper) settings() string {
	return d.cfg.settings("dump", d.cfg.Segments, d.cfg.Consistent)
}

func (d *dumper) run(ctx context.Context) error {
	if err := os.MkdirAll(d.directory, 0o700); err != nil {
		return err
	}
	d.state = stateFile{path: cmp.Or(d.cfg.State, filepath.Join(d.directory, "dump"+stateEnding)), take: d.take}
	var saved dumpState
	if found, err := readState(d.state.path, d.settings(), &saved); err != nil {
		return err
	} else if found {
		d.tables = saved.Tables
	}
	list, err := d.caller.selected(ctx, d.cfg.Tables)
	if err != nil {
		return err
	}
	for _, t := range list {
		d.counters.all.Add(t.items)
		d.totals.Tables = append(d.totals.Tables, t.name)
		if _, err := d.cfg.plan(t); err != nil {
			return err
		}
	}
	slices.Sort(d.totals.Tables)
	for _, t := range list {
		if err := d.table(ctx, t); err != nil {
			return errors.Join(err, d.state.save(true))
		}
	}
	d.cfg.progress(&d.counters)
	return d.state.remove()
}

// take returns the state.
func (d *dumper) take() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := dumpState{stateHead{stateFormat, d.settings()}, map[string]*dumpedTable{}}
	for name, t := range d.tables {
		c := *t
		c.Segments = slices.Clone(t.Segments)
		s.Tables[name] = &c
	}
	return s
}

// newID returns the name of an export, which begins with the time, as those of AWS do.
func newID(now time.Time) string {
	random := make([]byte, 4)
	rand.Read(random)
	return fmt.Sprintf("%014d-%s", now.UnixMilli(), hex.EncodeToString(random))
}

// newName returns the name of a data file.
func newName() string {
	random := make([]byte, 16)
	rand.Read(random)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random)) + ".json.gz"
}

// table dumps a table.
func (d *dumper) table(ctx context.Context, t *table) error {
	p, err := d.begin(t)
	if err != nil || p.Complete {
		return err
	}
	expiry, err := d.caller.timeToLive(ctx, t.name)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(d.directory, t.name+".json"), schemaText(t, expiry)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plan, err := d.cfg.plan(t)
	if err != nil {
		return err
	}
	var scans sync.WaitGroup
	for i := range p.Segments {
		w := &segmentWriter{dumper: d, table: t, progress: p, segment: &p.Segments[i], plan: plan, directory: d.export(p.ID)}
		scans.Go(func() {
			if err := w.run(ctx, i, len(p.Segments)); err != nil {
				cancel(err)
			}
		})
	}
	scans.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := d.manifests(t, p); err != nil {
		return err
	}
	d.mu.Lock()
	p.Complete = true
	d.mu.Unlock()
	return d.state.save(true)
}

// export returns the directory of an export.
func (d *dumper) export(id string) string { return filepath.Join(d.directory, exportRoot, id) }

// begin returns the progress of a table: that of an earlier run, or a new export.
func (d *dumper) begin(t *table) (*dumpedTable, error) {
	d.mu.Lock()
	p := d.tables[t.name]
	d.mu.Unlock()
	if p != nil {
		return p, d.resume(t, p)
	}
	now := time.Now()
	p = &dumpedTable{ID: newID(now), Table: t.id, Start: now, Segments: make([]dumpedSegment, d.cfg.Segments)}
	if err := os.MkdirAll(filepath.Join(d.export(p.ID), dataDirectory), 0o700); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(d.export(p.ID), "_started"), nil); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.tables[t.name] = p
	d.mu.Unlock()
	return p, d.state.save(true)
}

// resume checks that an earlier run can be continued, and removes files that are not whole.
func (d *dumper) resume(t *table, p *dumpedTable) error {
	if p.Table != t.id || len(p.Segments) != d.cfg.Segments {
		return fmt.Errorf("the table %s is another one than that of the dump that is to be continued; remove %s to begin anew", t.name, d.state.path)
	}
	for _, s := range p.Segments {
		for _, f := range s.Files {
			if _, err := os.Stat(filepath.Join(d.directory, filepath.FromSlash(f.DataFileS3Key))); err != nil {
				return fmt.Errorf("a file of the dump that is to be continued is missing; remove %s to begin anew: %w", d.state.path, err)
			}
			d.counters.skipped.Add(f.ItemCount)
			d.counters.read.Add(f.ItemCount)
		}
	}
	parts, err := filepath.Glob(filepath.Join(d.export(p.ID), dataDirectory, partPattern))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := os.Remove(part); err != nil {
			return err
		}
	}
	return nil
}

// schemaText returns the file that describes a table: the answers of DescribeTable and
// DescribeTimeToLive in one object.
func schemaText(t *table, expiry string) []byte {
	text := append([]byte(`{"Table":`), t.description...)
	if expiry != "" {
		text = append(text, `,"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":`...)
		text = append(wire.AppendQuoted(text, []byte(expiry)), '}')
	}
	return append(text, "}\n"...)
}

// timeLayout is the form of times in manifests.
const timeLayout = "2006-01-02T15:04:05.000Z"

// manifests writes the manifests of an export, the summary last: with it the export is
// complete.
func (d *dumper) manifests(t *table, p *dumpedTable) error {
	key := exportRoot + "/" + p.ID + "/" + filesName + ".json"
	s := summary{
		Version: "2020-06-30", ExportArn: t.arn + "/export/" + p.ID, TableArn: t.arn, TableID: t.id,
		StartTime: p.Start.UTC().Format(timeLayout), EndTime: time.Now().UTC().Format(timeLayout), ExportTime: p.Start.UTC().Format(timeLayout),
		S3SseAlgorithm: "AES256", ManifestFilesS3Key: key, BilledSizeBytes: p.Bytes, OutputFormat: "DYNAMODB_JSON",
	}
	var lines []byte
	for _, segment := range p.Segments {
		for _, f := range segment.Files {
			line, err := json.Marshal(f)
			if err != nil {
				return err
			}
			lines = append(append(lines, line...), '\n')
			s.ItemCount += f.ItemCount
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		text []byte
	}{{filesName, lines}, {summaryName, text}} {
		sum := md5.Sum(m.text)
		for _, ending := range checksumEndings {
			if err := writeFile(filepath.Join(d.export(p.ID), m.name+ending), []byte(base64.StdEncoding.EncodeToString(sum[:]))); err != nil {
				return err
			}
		}
		if err := writeFile(filepath.Join(d.export(p.ID), m.name+".json"), m.text); err != nil {
			return err
		}
	}
	return nil
}
