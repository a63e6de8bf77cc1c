package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// sources are the files to load.
type sources struct {
	schemas []*schema
	files   []*dataFile
}

// findSources finds the files to load. A directory is an export, or has exports below
// AWSDynamoDB, or has files, of which those with other names than data are skipped: note is
// called with them.
func findSources(paths []string, note func(string)) (*sources, error) {
	s := &sources{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if err := s.addFile(path); err != nil {
				return nil, err
			}
		} else if err := s.addDirectory(path, note); err != nil {
			return nil, err
		}
	}
	if err := s.addBeside(); err != nil {
		return nil, err
	}
	if err := s.join(); err != nil {
		return nil, err
	}
	if len(s.schemas) == 0 && len(s.files) == 0 {
		return nil, fmt.Errorf("there is nothing to load in %s", strings.Join(paths, ", "))
	}
	return s, nil
}

// formatOf returns the format of a file by its name: JSON may also be a schema. It returns
// false for names that data does not have.
func formatOf(path string) (format, bool) {
	formats := map[string]format{".json": jsonLines, ".jsonl": jsonLines, ".ndjson": jsonLines, ".ion": ionText, ".csv": csvText}
	f, ok := formats[filepath.Ext(strings.TrimSuffix(path, ".gz"))]
	return f, ok
}

// addFile adds a file.
func (s *sources) addFile(path string) error {
	f, ok := formatOf(path)
	if !ok {
		return fmt.Errorf("%s: a name of data ends with .json, .jsonl, .ndjson, .ion or .csv, and with .gz behind it if it is compressed", path)
	}
	if f == jsonLines {
		text, err := firstValue(path)
		if err != nil {
			return err
		}
		if text != nil {
			c, err := parseSchema(path, text)
			if err != nil {
				return err
			}
			c.base = baseName(path)
			s.schemas = append(s.schemas, c)
			return nil
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, &dataFile{path: path, format: f, table: filepath.Base(baseName(path)), size: info.Size()})
	return nil
}

// firstValue returns the content of a file if it is a schema, else nil.
func firstValue(path string) ([]byte, error) {
	in, err := open(path, new(atomic.Int64))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var text json.RawMessage
	limited := &io.LimitedReader{R: in, N: maxSchema}
	d := json.NewDecoder(limited)
	err = d.Decode(&text)
	schemaName := strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".json"), ".schema")
	if err == nil && isSchema(text) {
		if _, err := d.Token(); err != io.EOF {
			return nil, fmt.Errorf("%s: there is more after the description of the table", path)
		}
		return text, nil
	}
	if err != nil && schemaName {
		rest, _ := os.ReadFile(path)
		return nil, syntaxError(path, rest)
	}
	if schemaName {
		return nil, fmt.Errorf("%s: is no description of a table, as DescribeTable returns, or request that creates one", path)
	}
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		return nil, err
	}
	return nil, nil // the reader of its lines reports the mistake
}

// addDirectory adds the files of a directory.
func (s *sources) addDirectory(directory string, note func(string)) error {
	if isExport(directory) {
		return s.addExports([]string{directory})
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	if filepath.Base(absolute(directory)) == exportRoot {
		return s.addRoot(directory)
	}
	for _, e := range entries {
		path := filepath.Join(directory, e.Name())
		_, data := formatOf(path)
		switch {
		case e.IsDir() && e.Name() == exportRoot:
			err = s.addRoot(path)
		case e.IsDir() && isExport(path):
			err = s.addExports([]string{path})
		case strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), stateEnding):
			continue
		case e.IsDir() || !data:
			note(path + ": skipped, its name is not that of data")
		default:
			err = s.addFile(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// addRoot adds the exports in a directory AWSDynamoDB.
func (s *sources) addRoot(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	var list []string
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		switch {
		case !e.IsDir() || e.Name() == dataDirectory: // the data of incremental exports
		case !isExport(path):
			return fmt.Errorf("%s: the export is not complete: there is no %s.json", path, summaryName)
		default:
			list = append(list, path)
		}
	}
	return s.addExports(list)
}

// addExports adds exports in the order of their times, full ones first.
func (s *sources) addExports(directories []string) error {
	var list []*export
	for _, directory := range directories {
		x, err := readExport(directory)
		if err != nil {
			return err
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b *export) int {
		return cmp.Or(cmp.Compare(a.summary.ExportToTime, b.summary.ExportToTime), cmp.Compare(a.summary.ExportTime, b.summary.ExportTime))
	})
	for _, x := range list {
		for _, f := range x.files {
			info, err := os.Stat(f.path)
			if err != nil {
				return err
			}
			f.size = info.Size()
			s.files = append(s.files, f)
		}
	}
	return nil
}

// addBeside adds the schemas beside files that were given alone: T.json or T.schema.json
// beside T.items.json, or the directory with AWSDynamoDB.
func (s *sources) addBeside() error {
	for _, f := range s.files {
		base := baseName(f.path)
		if f.manifest != nil {
			root := filepath.Dir(f.path)
			for root != filepath.Dir(root) && filepath.Base(root) != exportRoot {
				root = filepath.Dir(root)
			}
			base = filepath.Join(filepath.Dir(root), f.table)
		}
		for _, ending := range []string{".json", ".schema.json"} {
			path := base + ending
			if path == f.path || slices.ContainsFunc(s.schemas, func(c *schema) bool { return absolute(c.place) == absolute(path) }) {
				continue
			}
			if info, err := os.Stat(path); err != nil || info.IsDir() {
				continue
			}
			text, err := firstValue(path)
			if err != nil {
				return err
			}
			if text == nil {
				continue
			}
			c, err := parseSchema(path, text)
			if err != nil {
				return err
			}
			c.base = base
			s.schemas = append(s.schemas, c)
		}
	}
	return nil
}

// join adds each time to live to its table's schema, and gives files the table of the schema
// beside them, whose name may be another than that of the file.
func (s *sources) join() error {
	var tables []*schema
	for _, c := range s.schemas {
		if c.table != nil {
			tables = append(tables, c)
		}
	}
	for _, c := range s.schemas {
		if c.table != nil {
			continue
		}
		i := slices.IndexFunc(tables, func(t *schema) bool { return t.base == c.base || t.table.name == filepath.Base(c.base) })
		if i < 0 {
			return fmt.Errorf("%s: has a time to live, and there is no description of its table beside it", c.place)
		}
		tables[i].expiry = c.expiry
	}
	for _, f := range s.files {
		for _, c := range tables {
			if f.manifest == nil && c.base == baseName(f.path) {
				f.table = c.table.name
			}
		}
	}
	s.schemas = tables
	return nil
}

// rename directs everything to one table. Descriptions and exports must be of one table.
func (s *sources) rename(name string) error {
	names := map[string]bool{}
	for i, c := range s.schemas {
		names[c.table.name] = true
		s.schemas[i] = c.named(name)
	}
	for _, f := range s.files {
		if f.manifest != nil {
			names[f.table] = true
		}
		f.table = name
	}
	if len(names) > 1 {
		return fmt.Errorf("the files are of several tables, and only one name is given: %s", name)
	}
	return nil
}

// total returns the size of all files in bytes.
func (s *sources) total() (n int64) {
	for _, f := range s.files {
		n += f.size
	}
	return n
}
