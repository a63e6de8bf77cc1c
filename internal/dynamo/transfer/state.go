package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stateEnding ends the name of a file with the state of a run that is not complete.
const stateEnding = ".kasoku-state"

const (
	// stateFormat is the version of the files.
	stateFormat = 1
	// stateInterval is the minimum time between two writes of a state.
	stateInterval = time.Second
)

// stateFile is the state of a run in a file: the part that is finished. It is removed when the
// run is complete.
type stateFile struct {
	path string // "" for none
	mu   sync.Mutex
	last time.Time
	take func() any // returns the content
}

// stateHead is the beginning of every state: the settings of the run. A run with others can't
// continue it.
type stateHead struct {
	Format   int    `json:"format"`
	Settings string `json:"settings"`
}

// errOtherSettings is the error for the state of a run with other settings.
var errOtherSettings = errors.New("is the state of a run with other settings, which is not complete: repeat that one to finish it, " +
	"or remove the file to begin anew")

// readState reads the state of an earlier run with the same settings into v. It returns false
// if there is none.
func readState(path, settings string, v any) (found bool, err error) {
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var head stateHead
	if err := json.Unmarshal(text, &head); err != nil {
		return false, fmt.Errorf("%s: is no state of an earlier run; remove it to begin anew: %w", path, err)
	}
	if head.Format != stateFormat || head.Settings != settings {
		return false, fmt.Errorf("%s: %w", path, errOtherSettings)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: is no state of an earlier run; remove it to begin anew: %w", path, err)
	}
	return true, nil
}

// resume is readState for runs that may begin anew at any time, because they write the same
// again. A state of other settings is replaced, and reported.
func (c *Config) resume(path, settings string, v any) error {
	_, err := readState(path, settings, v)
	if errors.Is(err, errOtherSettings) {
		c.report(path + ": is the state of a run with other settings; this one begins anew")
		return nil
	}
	return err
}

// save writes the state, if the last time is long enough ago or now is set.
func (s *stateFile) save(now bool) error {
	if s.path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now && time.Since(s.last) < stateInterval {
		return nil
	}
	text, err := json.Marshal(s.take())
	if err != nil {
		return err
	}
	// A state that is lost with the system's power costs time only: it is not synced.
	if err := replaceFile(s.path, text, false); err != nil {
		return fmt.Errorf("write the state of this run: %w", err)
	}
	s.last = time.Now()
	return nil
}

// remove removes the file after a complete run.
func (s *stateFile) remove() error {
	if s.path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeFile writes a file that appears with its whole content or not at all.
func writeFile(path string, content []byte) error { return replaceFile(path, content, true) }

// replaceFile is writeFile, and returns before the content is on the disk unless sync is set.
func replaceFile(path string, content []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && sync {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
