package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// header is the first line of the file.
const header = `{"kasoku_ledger":1}`

// rewriteEvery is the number of hours after which the file is written anew, without the hours that
// are too old.
const rewriteEvery = 24

// file has a line of JSON for each account of each hour. The lines of the current hour are at its
// end and are written again at each collection. If that is interrupted, the file may have two lines
// of an account, or a part of one: load takes the larger figures, and ignores the part.
type file struct {
	name    string
	f       *os.File
	settled int64 // length of the lines of past hours
	current hour  // of the lines behind them
	hours   int   // settled since the file was written anew
}

// fileRow is a line of the file.
type fileRow struct {
	Hour time.Time `json:"hour"`
	Account
	Figures
}

// openFile opens the file, which it makes if it does not exist, and locks it.
func openFile(name string) (*file, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the ledger %s: %w", name, err)
	}
	return &file{name: name, f: f}, nil
}

func (l *file) close() { l.f.Close() }

// load returns the figures in the file, and writes it anew.
func (l *file) load(now time.Time) (hours, error) {
	hs := hours{}
	lines := bufio.NewReader(l.f)
	first, err := lines.ReadBytes('\n')
	if len(first) > 0 && !bytes.Equal(bytes.TrimSpace(first), []byte(header)) {
		return nil, fmt.Errorf("%s is no ledger", l.name)
	}
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err == nil {
			hs.restore(line)
		}
	}
	hs.expire(now)
	if err := l.rewrite(hs, now); err != nil {
		return nil, fmt.Errorf("write the ledger %s: %w", l.name, err)
	}
	return hs, nil
}

// restore adds a line of the file, unless it is incomplete.
func (hs hours) restore(line []byte) {
	var r fileRow
	if json.Unmarshal(line, &r) != nil {
		return
	}
	h := hourOf(r.Hour)
	f := hs[h][r.Account]
	delete(hs[h], r.Account)
	hs.add(h, r.Account, f.larger(r.Figures))
}

// larger returns the figures with more requests and units, which are of a later time.
func (f Figures) larger(o Figures) Figures {
	if o.weight() > f.weight() {
		return o
	}
	return f
}

// appendLines appends the lines of an hour.
func (hs hours) appendLines(dst []byte, h hour) []byte {
	m := hs[h]
	for _, a := range slices.SortedFunc(maps.Keys(m), Account.compare) {
		line, err := json.Marshal(fileRow{h.start(), a, m[a]})
		if err != nil {
			panic(err) // all fields are numbers and text
		}
		dst = append(append(dst, line...), '\n')
	}
	return dst
}

// write writes the lines of the current hour, and once in an hour also those of the past one.
func (l *file) write(hs hours, now time.Time) error {
	h := hourOf(now)
	if h > l.current {
		if l.hours++; l.hours >= rewriteEvery {
			return l.rewrite(hs, now)
		}
		if err := l.writeEnd(hs.appendLines(nil, l.current)); err != nil {
			return err
		}
		end, err := l.f.Seek(0, 2)
		if err != nil {
			return err
		}
		if err := l.f.Sync(); err != nil {
			return err
		}
		l.settled, l.current = end, h
	}
	return l.writeEnd(hs.appendLines(nil, l.current))
}

// writeEnd replaces everything behind the settled lines.
func (l *file) writeEnd(lines []byte) error {
	if _, err := l.f.WriteAt(lines, l.settled); err != nil {
		return err
	}
	return l.f.Truncate(l.settled + int64(len(lines)))
}

// rewrite replaces the file by one with these hours.
func (l *file) rewrite(hs hours, now time.Time) error {
	current := hourOf(now)
	data := []byte(header + "\n")
	for _, h := range slices.Sorted(maps.Keys(hs)) {
		if h < current {
			data = hs.appendLines(data, h)
		}
	}
	settled := int64(len(data))
	data = hs.appendLines(data, current)
	next, err := replace(l.name, data)
	if err != nil {
		return err
	}
	l.f.Close()
	l.f, l.settled, l.current, l.hours = next, settled, current, 0
	return nil
}

// replace makes a file with this content, and locks it, in the place of the one called name.
func replace(name string, data []byte) (f *os.File, err error) {
	f, err = os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	if err := lock(f); err != nil {
		return f, err
	}
	if _, err := f.Write(data); err != nil {
		return f, err
	}
	if err := f.Sync(); err != nil {
		return f, err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return f, err
	}
	return f, syncDir(filepath.Dir(name))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
