package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeWarmer fills entries as their text demands.
type fakeWarmer struct {
	delay time.Duration

	mu            sync.Mutex
	present, peak int // entries that are being filled now, and the maximum
}

func (f *fakeWarmer) Warm(ctx context.Context, entry string) (WarmOutcome, error) {
	f.mu.Lock()
	f.present++
	f.peak = max(f.peak, f.present)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.present--
		f.mu.Unlock()
	}()
	select {
	case <-time.After(f.delay):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	switch entry {
	case "nothing":
		return "", fmt.Errorf("%w: it names nothing", ErrInput)
	case "down":
		return "", errors.New("no answer")
	}
	return WarmOutcome(entry), nil
}

func TestWarmRoute(t *testing.T) {
	o, _ := example()
	w := &fakeWarmer{}
	o.Services[0].Warmer = w
	base := start(t, o, "")
	f := func(body string, status int, want string) string {
		t.Helper()
		got, text := send(t, "POST", base+"/api/v1/warm", body, nil)
		if got != status || !strings.Contains(text, want) {
			t.Fatalf("%s: %d %s; want %d with %s", body, got, text, status, want)
		}
		return text
	}
	text := f(`{"service":"orders","entries":["filled","present","uncacheable","nothing","down"]}`, 200, "results")
	var result WarmResult
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatal(err)
	}
	want := "[{filled } {present } {uncacheable } {invalid it names nothing} {failed no answer}]"
	if got := fmt.Sprint(result.Results); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f(`{"service":"orders","entries":[]}`, 200, `"results": []`)
	f(`{"service":"orders"}`, 400, "give entries or a peer")
	f(`{"service":"orders","entries":["filled"],"peer":"b"}`, 400, "give entries or a peer")
	f(`{"service":"orders","entries":["filled"],"rate":1}`, 400, "keys and rate are for a peer")
	f(`{"service":"orders","entries":["a"`+strings.Repeat(`,"a"`, maxWarmEntries)+`]}`, 400, "1001 entries are too many")
	f(`{"service":"users","entries":["a"]}`, 400, "users is not up")
	f(`{"service":"x","entries":["a"]}`, 404, "there is no service")
	f(`{"service":"orders","peer":"b","keys":1,"rate":1}`, 404, "in no cluster")

	o.Cluster = exampleCluster()
	f(`{"service":"orders","peer":"b","rate":1}`, 400, "must be positive")
	f(`{"service":"orders","peer":"x","keys":1,"rate":1}`, 400, "there is no other member x")
	lines := strings.Split(strings.TrimSpace(f(`{"service":"orders","peer":"b","keys":12,"rate":1}`, 200, "filled")), "\n")
	if last := lines[len(lines)-1]; last != `{"filled":12,"present":2,"absent":0,"uncacheable":0,"bytes":120,"part":1,"done":true}` {
		t.Errorf("the last line is %s", last)
	}
	lines = strings.Split(strings.TrimSpace(f(`{"service":"orders","peer":"b","keys":13,"rate":1}`, 200, "filled")), "\n")
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, `,"bytes":130,"part":1,"error":"b does not reply"}`) {
		t.Errorf("the last line is %s", last)
	}
}

// Entries are filled at the same time, but not all of them, and for a limited time.
func TestWarmEntriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWarmer{delay: 10 * time.Second}
		entries := make([]string, 3*warmAtOnce)
		for i := range entries {
			entries[i] = "filled"
		}
		started := time.Now()
		outcomes := map[WarmedEntry]int{}
		for _, r := range warmAll(t.Context(), w, entries) {
			outcomes[r]++
		}
		if took := time.Since(started); took != warmTimeout || w.peak != warmAtOnce {
			t.Errorf("it took %s, with %d at a time", took, w.peak)
		}
		if n := outcomes[WarmedEntry{Outcome: WarmFilled}]; n != 2*warmAtOnce || len(outcomes) != 2 {
			t.Errorf("got %v", outcomes)
		}
		w.delay = time.Minute
		outcomes = map[WarmedEntry]int{}
		for _, r := range warmAll(t.Context(), w, entries) {
			outcomes[r]++
		}
		if n := outcomes[WarmedEntry{WarmFailed, errNotBegun}]; n != 2*warmAtOnce {
			t.Errorf("got %v", outcomes)
		}
	})
}
