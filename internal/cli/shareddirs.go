package cli

import (
	"fmt"
	"path/filepath"
	"sync"
)

// sharedDirs holds resources that each have a directory of their own. A directory is opened
// once, even if several services use it.
type sharedDirs[T any] struct {
	close func(dir string, resource T)

	mu   sync.Mutex
	open map[string]*sharedDir[T] // by absolute path
}

// sharedDir is an open directory with the number of its handles.
type sharedDir[T any] struct {
	resource T
	path     string
	handles  int // guarded by sharedDirs.mu
}

// sharedHandle is one use of a directory. Closing the last handle closes the resource.
type sharedHandle[T any] struct {
	*sharedDir[T]
	Close func()
}

// newSharedDirs returns a set of directories; close closes the resource of one.
func newSharedDirs[T any](close func(dir string, resource T)) *sharedDirs[T] {
	return &sharedDirs[T]{close: close, open: map[string]*sharedDir[T]{}}
}

// connect returns a handle of a directory. It calls open if the directory is not open yet.
func (s *sharedDirs[T]) connect(dir string, open func(path string) (T, error)) (*sharedHandle[T], error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory %s: %w", dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[path]
	if d == nil {
		resource, err := open(path)
		if err != nil {
			return nil, err
		}
		d = &sharedDir[T]{resource: resource, path: path}
		s.open[path] = d
	}
	d.handles++
	return &sharedHandle[T]{d, sync.OnceFunc(func() { s.release(d) })}, nil
}

func (s *sharedDirs[T]) release(d *sharedDir[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.handles--; d.handles == 0 {
		delete(s.open, d.path)
		s.close(d.path, d.resource)
	}
}

// use calls f with the resource of a directory, if it is open.
func (s *sharedDirs[T]) use(dir string, f func(resource T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		if d.isAt(dir) {
			f(d.resource)
		}
	}
}

// isAt reports whether dir is the directory.
func (d *sharedDir[T]) isAt(dir string) bool {
	path, err := filepath.Abs(dir)
	return err == nil && path == d.path
}
