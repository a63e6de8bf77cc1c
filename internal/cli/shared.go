package cli

import (
	"fmt"
	"path/filepath"
	"sync"
)

// shared holds resources that each have a place of their own: a directory, or the memory of a
// service. A place is opened once, even if several services use it.
type shared[T any] struct {
	close func(at place, resource T)

	mu   sync.Mutex
	open map[place]*sharedPlace[T]
}

// place is the absolute path of a directory, or names the memory of a service.
type place string

// memoryPrefix begins the places that are no paths.
const memoryPrefix = "memory of service "

// memoryOf returns the place in memory of a service.
func memoryOf(service string) place { return place(memoryPrefix + service) }

// directory returns the place of a directory, which is the same however its path is written.
func directory(dir string) (place, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the directory %s: %w", dir, err)
	}
	return place(path), nil
}

// sharedPlace is an open place with the number of its handles.
type sharedPlace[T any] struct {
	resource T
	at       place
	handles  int // guarded by shared.mu
}

// sharedHandle is one use of a place. Closing the last handle closes the resource.
type sharedHandle[T any] struct {
	*sharedPlace[T]
	Close func()
}

// newShared returns an empty set of places; close closes the resource of one.
func newShared[T any](close func(at place, resource T)) *shared[T] {
	return &shared[T]{close: close, open: map[place]*sharedPlace[T]{}}
}

// connect returns a handle of a place. It calls open if the place is not open yet.
func (s *shared[T]) connect(at place, open func() (T, error)) (*sharedHandle[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.open[at]
	if p == nil {
		resource, err := open()
		if err != nil {
			return nil, err
		}
		p = &sharedPlace[T]{resource: resource, at: at}
		s.open[at] = p
	}
	p.handles++
	return &sharedHandle[T]{p, sync.OnceFunc(func() { s.release(p) })}, nil
}

func (s *shared[T]) release(p *sharedPlace[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.handles--; p.handles == 0 {
		delete(s.open, p.at)
		s.close(p.at, p.resource)
	}
}

// use calls f with the resource of a place, if it is open.
func (s *shared[T]) use(at place, f func(resource T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.open[at]; p != nil {
		f(p.resource)
	}
}
