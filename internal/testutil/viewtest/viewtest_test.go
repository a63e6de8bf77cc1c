package viewtest_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

const cluster = "production"

// expectView compares the stored view.
func expectView(t *testing.T, o *viewtest.Origin, rev, epoch uint64) {
	t.Helper()
	if v, err := o.View(cluster); err != nil || v.Rev != rev || v.Epoch != epoch {
		t.Errorf("got %+v, %v, want revision %d in epoch %d", v, err, rev, epoch)
	}
}

func TestFaults(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct {
		name    string
		faults  viewtest.Faults
		want    error // nil for the text
		text    string
		took    time.Duration
		written bool
	}{
		{name: "none", written: true},
		{name: "unavailable", faults: viewtest.Faults{Err: down}, want: down},
		{name: "throttled", faults: viewtest.Faults{Status: 400, Code: "ThrottlingException"}, text: "400 ThrottlingException"},
		{name: "conflict", faults: viewtest.Faults{Conflicts: 1}, want: view.ErrConflict},
		{name: "slow", faults: viewtest.Faults{Delay: time.Second, AnswerDelay: 500 * time.Millisecond}, took: 1500 * time.Millisecond, written: true},
		{name: "slow answer", faults: viewtest.Faults{AnswerDelay: time.Minute}, want: context.DeadlineExceeded, took: 2 * time.Second, written: true},
		{name: "lost answer", faults: viewtest.Faults{LoseAnswers: true}, want: viewtest.ErrLost, written: true},
		{name: "too slow", faults: viewtest.Faults{Delay: time.Minute}, want: context.DeadlineExceeded, took: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				o := viewtest.New()
				client := o.Client()
				client.Set(c.faults)
				start := time.Now()
				err := client.Store(cluster).Write(ctx, 0, protocol.View{Rev: 1, Epoch: 5})
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				switch {
				case c.text != "":
					if err == nil || !strings.Contains(err.Error(), c.text) {
						t.Errorf("got %v, want %s", err, c.text)
					}
				case !errors.Is(err, c.want):
					t.Errorf("got %v, want %v", err, c.want)
				}
				if c.written {
					expectView(t, o, 1, 5)
				} else {
					expectView(t, o, 0, 0)
				}
			})
		})
	}
}

// TestLateWrite checks that a write takes effect after its context has ended, if the revision
// is the same until then.
func TestLateWrite(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := viewtest.New()
			slow, quick := o.Client(), o.Client()
			slow.Set(viewtest.Faults{Delay: time.Minute})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := slow.Store(cluster).Write(ctx, 0, protocol.View{Rev: 1, Epoch: 5}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			want := uint64(5)
			if overtaken {
				want = 6
				if err := quick.Store(cluster).Write(t.Context(), 0, protocol.View{Rev: 1, Epoch: want}); err != nil {
					t.Error(err)
				}
				expectView(t, o, 1, want)
			} else {
				expectView(t, o, 0, 0)
			}
			time.Sleep(time.Minute)
			expectView(t, o, 1, want)
		})
	}
}

// TestOrderOfArrival checks that a quick write is executed before a slow one that was sent
// earlier.
func TestOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := viewtest.New()
		results := make([]error, 3)
		for i := range results {
			client := o.Client()
			client.Set(viewtest.Faults{Delay: time.Duration(3-i) * time.Second})
			go func() {
				results[i] = client.Store(cluster).Write(t.Context(), 0, protocol.View{Rev: 1, Epoch: uint64(i)})
			}()
			synctest.Wait()
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if want := []error{view.ErrConflict, view.ErrConflict, nil}; !reflect.DeepEqual(results, want) {
			t.Errorf("got %v, want %v", results, want)
		}
		expectView(t, o, 1, 2)
	})
}

func TestConflictsAreCounted(t *testing.T) {
	o := viewtest.New()
	client := o.Client()
	client.Set(viewtest.Faults{Conflicts: 2})
	s := client.Store(cluster)
	for i, want := range []error{view.ErrConflict, view.ErrConflict, nil} {
		if v, err := s.Read(t.Context()); err != nil || v.Rev != 0 {
			t.Errorf("got %+v, %v", v, err)
		}
		if err := s.Write(t.Context(), 0, protocol.View{Rev: 1}); err != want {
			t.Errorf("write %d: got %v, want %v", i, err, want)
		}
	}
}

func TestReplace(t *testing.T) {
	o := viewtest.New()
	s := o.Client().Store(cluster)
	if err := s.Write(t.Context(), 0, protocol.View{Rev: 1}); err != nil {
		t.Fatal(err)
	}
	o.Replace(cluster, `{"cluster":{"S":"production"},"format":{"N":"99"}}`)
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "it has format 99") {
		t.Errorf("got %v", err)
	}
	o.Replace(cluster, "")
	expectView(t, o, 0, 0)
	if err := s.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
}
