package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
	"github.com/kasoku/kasoku/internal/dynamo/transfer/ion"
)

// loader loads files.
type loader struct {
	cfg      *Config
	counters counters
	caller   *caller
	writer   *writer
	state    stateFile
	totals   Totals // its tables

	mu    sync.Mutex
	files map[string]*loadedFile // by absolute path
}

// loadedFile is the progress of a file.
type loadedFile struct {
	savedFile
	tracker *tracker
	total   int // number of records, once the file has been read
	read    bool
}

// savedFile is the progress of a file in the state.
type savedFile struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Done     int       `json:"done"` // records that are finished, from the beginning
	Complete bool      `json:"complete,omitempty"`
}

// loadState is the state of a load that is not complete.
type loadState struct {
	stateHead
	Files map[string]savedFile `json:"files"`
}

// Load writes files, and the files in directories, into a store. It returns the counts also
// after an error; records that can't be written are no error with KeepGoing.
func Load(ctx context.Context, cfg *Config, paths []string) (Totals, error) {
	cfg.setDefaults()
	l := &loader{cfg: cfg, counters: counters{start: time.Now()}, files: map[string]*loadedFile{}}
	l.caller = cfg.caller(cfg.Endpoint, &l.counters)
	err := l.load(ctx, paths)
	t := l.counters.totals()
	t.Tables, t.Created = append(t.Tables, l.totals.Tables...), l.totals.Created
	return t, err
}

func (l *loader) load(ctx context.Context, paths []string) error {
	if len(l.cfg.Tables) > 1 {
		return errors.New("files are loaded into one table, or into those that they name: give one --table at most")
	}
	s, err := findSources(paths, l.cfg.report)
	if err != nil {
		return err
	}
	if len(l.cfg.Tables) == 1 {
		if err := s.rename(l.cfg.Tables[0]); err != nil {
			return err
		}
	}
	l.counters.all.Store(s.total())
	if err := l.restore(paths[0]); err != nil {
		return err
	}
	tables, err := l.tables(ctx, s)
	if err != nil || len(s.files) == 0 {
		return err
	}
	plans := map[string]*anonymise.Plan{}
	for name, t := range tables {
		if plans[name], err = l.cfg.plan(t); err != nil {
			return err
		}
	}
	if err := l.state.save(true); err != nil { // it can be written
		return err
	}
	l.writer = startWriter(ctx, l.caller, l.cfg, &l.counters, &l.state)
	for _, f := range s.files {
		if err = l.file(f, tables[f.table], plans[f.table]); err != nil {
			break
		}
	}
	// The records before a mistake are written all the same.
	if e := l.writer.close(); e != nil {
		err = e
	}
	if t := l.counters.totals(); err != nil && t.Items+t.Deleted+t.Skipped > 0 {
		return errors.Join(err, l.state.save(true))
	}
	l.cfg.progress(&l.counters)
	return errors.Join(err, l.state.remove())
}

// restore reads the state of an earlier run.
func (l *loader) restore(first string) error {
	l.state = stateFile{path: l.cfg.State, take: l.take}
	if l.state.path == "" {
		l.state.path = filepath.Clean(absolute(first)) + stateEnding
	}
	var saved loadState
	if err := l.cfg.resume(l.state.path, l.cfg.settings("load"), &saved); err != nil {
		return err
	}
	for path, f := range saved.Files {
		l.files[path] = &loadedFile{savedFile: f}
	}
	return nil
}

// take returns the state.
func (l *loader) take() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := loadState{stateHead{stateFormat, l.cfg.settings("load")}, map[string]savedFile{}}
	for path, f := range l.files {
		if f.tracker != nil {
			f.Done = f.tracker.done()
			f.Complete = f.read && f.Done >= f.total
		}
		s.Files[path] = f.savedFile
	}
	return s
}

// tables creates the tables that are missing, and returns all that the files need.
func (l *loader) tables(ctx context.Context, s *sources) (map[string]*table, error) {
	tables := map[string]*table{}
	for _, c := range s.schemas {
		if _, ok := tables[c.table.name]; ok {
			continue
		}
		t, created, err := l.caller.create(ctx, c)
		if err != nil {
			return nil, err
		}
		tables[t.name] = t
		l.totals.Tables = append(l.totals.Tables, t.name)
		if created {
			l.totals.Created = append(l.totals.Created, t.name)
		}
	}
	for _, f := range s.files {
		if _, ok := tables[f.table]; ok {
			continue
		}
		t, err := l.caller.describe(ctx, f.table)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, fmt.Errorf("%s: there is no table %s at %s, and no description of it beside the file (%s.json); --table gives another name",
				f.path, f.table, l.caller.Name(), f.table)
		}
		tables[f.table] = t
		l.totals.Tables = append(l.totals.Tables, f.table)
	}
	slices.Sort(l.totals.Tables)
	return tables, nil
}

// begin returns the progress of a file, and a copy of its beginning: that of an earlier run, if
// the file has not changed.
func (l *loader) begin(f *dataFile) (*loadedFile, savedFile, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, savedFile{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	path := absolute(f.path)
	p := l.files[path]
	if p != nil && (p.Size != info.Size() || !p.Modified.Equal(info.ModTime())) {
		l.cfg.report(f.path + ": has changed since the run that was not complete; it is loaded from its beginning")
		p = nil
	}
	if p == nil {
		p = &loadedFile{savedFile: savedFile{Size: info.Size(), Modified: info.ModTime()}}
	}
	l.files[path] = p
	if !p.Complete {
		p.tracker = newTracker(p.Done, nil)
	}
	return p, p.savedFile, nil
}

// file loads a file.
func (l *loader) file(f *dataFile, t *table, plan *anonymise.Plan) error {
	p, begun, err := l.begin(f)
	if err != nil {
		return err
	}
	if begun.Complete {
		l.counters.skipped.Add(int64(begun.Done))
		l.counters.read.Add(f.size)
		return nil
	}
	if err := f.verify(); err != nil {
		return err
	}
	in, err := open(f.path, &l.counters.read)
	if err != nil {
		return err
	}
	defer in.Close()
	reader, err := newRecordReader(in.Reader, f.format, t, &l.cfg.CSV)
	if err != nil {
		return fmt.Errorf("%s:1: %w", f.path, err)
	}
	for n := 0; ; n++ {
		text, line, err := reader.Next()
		if err == io.EOF {
			return l.end(f, p, n)
		}
		at := place{f.path, line}
		if n < begun.Done {
			if _, bad := errors.AsType[badRecord](err); err != nil && !bad {
				return readError(at, err)
			}
			l.counters.skipped.Add(1)
			continue
		}
		if err := l.record(text, err, at, t, plan, p, n); err != nil {
			return err
		}
	}
}

// record passes a record to the writer. err is that of reading it.
func (l *loader) record(text []byte, err error, at place, t *table, plan *anonymise.Plan, p *loadedFile, n int) error {
	if bad, ok := errors.AsType[badRecord](err); ok {
		return l.writer.fail(at, p.tracker, n, bad.error)
	}
	if err != nil {
		return readError(at, err)
	}
	r, err := parseRecord(text, t)
	var key string
	if err == nil {
		r.item = plan.Apply(r.item)
		key, err = r.key(t)
	}
	if err != nil {
		return l.writer.fail(at, p.tracker, n, err)
	}
	return l.writer.add(task{record: r, table: t, key: key, place: at, number: n, source: p.tracker})
}

// readError returns the error of a file that can't be read on.
func readError(at place, err error) error {
	if e, ok := errors.AsType[*ion.Error](err); ok {
		return fmt.Errorf("%s:%d: %s", at.file, e.Line, e.Message)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// end notes that a file has been read, and compares the number of its records with the
// manifest.
func (l *loader) end(f *dataFile, p *loadedFile, n int) error {
	if m := f.manifest; m != nil && int64(n) != m.ItemCount {
		return fmt.Errorf("%s: has %d records, and the manifest %d", f.path, n, m.ItemCount)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.total, p.read = n, true
	return nil
}
