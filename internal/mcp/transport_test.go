package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const hello = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestManyCalls sends calls to a store that does not answer yet, and closes the input. Some of
// them run; the others are read when the store answers, and all are answered.
func TestManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		proceed := make(chan struct{})
		st := storeFunc(func(string, []byte) string {
			running.Add(1)
			<-proceed
			return "{}"
		})
		var in strings.Builder
		in.WriteString(hello)
		const calls = 3 * maxCalls
		for i := range calls {
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"describe_table","arguments":{"table_name":"t"}}}`+"\n", i)
		}
		var out bytes.Buffer
		ended := make(chan error)
		go func() {
			ended <- New(Options{Store: st, Log: slog.New(slog.DiscardHandler)}).Run(context.Background(), strings.NewReader(in.String()), &out)
		}()
		synctest.Wait()
		if n := running.Load(); n != maxCalls {
			t.Errorf("%d calls run, want %d", n, maxCalls)
		}
		close(proceed)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), `"text":"{}"`); n != calls {
			t.Errorf("%d answers, want %d", n, calls)
		}
	})
}

// TestStop cancels the server while a call runs.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &hangingStore{}
		ctx, cancel := context.WithCancel(context.Background())
		in, client := io.Pipe()
		ended := make(chan error)
		go func() {
			ended <- New(Options{Store: st, Log: slog.New(slog.DiscardHandler)}).Run(ctx, in, io.Discard)
		}()
		if _, err := io.WriteString(client, hello+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !st.called.Load() {
			t.Error("the store was not called")
		}
		start := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the server ends with %v", err)
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("the server has waited %s for the call", d)
		}
		client.Close()
	})
}

// hangingStore is a store that answers when the call is cancelled.
type hangingStore struct{ called atomic.Bool }

func (s *hangingStore) Call(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	s.called.Store(true)
	<-ctx.Done()
	return nil, ctx.Err()
}
