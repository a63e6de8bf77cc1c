// Command fluent measures this project's own client. Its modes: spill=FOLDER writes records
// to disk when memory is full; none calls no client, which measures the cost of making the
// records.
package main

import (
	"context"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/loggers"
	"github.com/kasoku/kasoku/fluent"
)

func main() {
	loggers.Main(func(o loggers.Options) (*loggers.Logger, error) {
		if o.Mode == "none" {
			return &loggers.Logger{Post: func(any) error { return nil }, Close: func() error { return nil }}, nil
		}
		options := []fluent.Option{fluent.WithAck(o.Ack)}
		if folder, found := strings.CutPrefix(o.Mode, "spill="); found {
			options = append(options, fluent.WithOverflow(fluent.Spill), fluent.WithSpill(folder, fluent.SpillOptions{MaxBytes: 4 << 30}))
		}
		l, err := fluent.New([]string{o.Addr}, options...)
		if err != nil {
			return nil, err
		}
		closing := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			return l.Shutdown(ctx)
		}
		return &loggers.Logger{Post: func(record any) error { return l.Post(loggers.Tag, record) }, Close: closing}, nil
	})
}
