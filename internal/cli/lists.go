package cli

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
)

// listsDirs holds the open directories with lists of attributes. A directory is opened once,
// even if several services use it.
type listsDirs struct {
	log *slog.Logger

	mu   sync.Mutex
	open map[string]*sharedLists // by the directory's absolute path
}

func newListsDirs(log *slog.Logger) *listsDirs {
	return &listsDirs{log: log, open: map[string]*sharedLists{}}
}

// sharedLists is an open directory with the number of its handles.
type sharedLists struct {
	*lists.Registry
	dir   string
	users int // guarded by listsDirs.mu
}

// listsHandle is one listener's handle of a directory. Closing the last handle closes the
// directory.
type listsHandle struct {
	*sharedLists
	close func()
}

func (w *listsHandle) Close() { w.close() }

// isFor reports whether the handle is for dir.
func (w *listsHandle) isFor(dir string) bool {
	abs, err := filepath.Abs(dir)
	return err == nil && abs == w.dir
}

// connect opens the directory, or shares it if it is open already.
func (d *listsDirs) connect(dir string) (*listsHandle, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of attribute lists %s: %w", dir, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	shared := d.open[path]
	if shared == nil {
		registry, err := lists.Open(lists.Config{Dir: path, Log: d.log})
		if err != nil {
			return nil, err
		}
		shared = &sharedLists{Registry: registry, dir: path}
		d.open[path] = shared
	}
	shared.users++
	return &listsHandle{shared, sync.OnceFunc(func() { d.release(shared) })}, nil
}

func (d *listsDirs) release(shared *sharedLists) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	delete(d.open, shared.dir)
	if err := shared.Registry.Close(); err != nil {
		d.log.Warn("the lists of attributes could not be closed", "dir", shared.dir, "error", err)
	}
}
