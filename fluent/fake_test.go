package fluent

import (
	"context"
	"sync"
	"testing"
	"time"
)

// fakeServers takes the place of delivery. It calls take with one batch after the other. An error
// returns the batch, and means that the only server is down.
type fakeServers struct {
	take func(ctx context.Context, b *batch) error

	running sync.WaitGroup
	mu      sync.Mutex
	failing bool
}

func (f *fakeServers) start(ctx context.Context, src source) {
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		f.run(ctx, src)
	}()
}

func (f *fakeServers) run(ctx context.Context, src source) {
	for {
		b, err := src.next(ctx)
		if err != nil {
			return
		}
		err = f.take(ctx, b)
		f.set(err != nil && ctx.Err() == nil)
		if err == nil {
			src.done(b)
			continue
		}
		src.back([]*batch{b}, err)
		pause(ctx, 100*time.Millisecond)
	}
}

// pause waits without a timer's channel, which bubbles of synctest must not
// receive from.
func pause(ctx context.Context, d time.Duration) {
	rest, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-rest.Done()
}

func (f *fakeServers) set(failing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = failing
}

func (f *fakeServers) down() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failing
}

func (f *fakeServers) wait()                 { f.running.Wait() }
func (f *fakeServers) states() []ServerStats { return nil }

// newFake returns a Logger whose batches are passed to take.
func newFake(t testing.TB, take func(ctx context.Context, b *batch) error, opts ...Option) *Logger {
	t.Helper()
	o := defaultOptions()
	for _, option := range opts {
		option(&o)
	}
	if err := o.resolve(); err != nil {
		t.Fatal(err)
	}
	l, err := newLogger(o, func(*options, func(Event)) (deliverer, error) {
		return &fakeServers{take: take}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
