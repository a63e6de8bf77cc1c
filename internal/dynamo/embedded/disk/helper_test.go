package disk

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// open opens a directory that is closed when the test ends, unless the test closes it.
func open(t *testing.T, fs vfs.FS) *DB {
	t.Helper()
	return openAs(t, Options{FS: fs})
}

func openAs(t *testing.T, o Options) *DB {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	d, err := Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// set commits one value.
func (d *DB) set(key, value string) error {
	b := d.NewBatch()
	defer b.Close()
	b.Set([]byte(key), []byte(value))
	return kv.Commit(d, b)
}

// text reads one value; "" if there is none.
func text(t *testing.T, r kv.Reader, key string) string {
	t.Helper()
	v, ok, err := r.Get([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return ""
	}
	defer v.Close()
	return string(v.Bytes)
}

// eventually waits for a result of background work.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !reached() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: timed out after half a minute", what)
		}
	}
}
