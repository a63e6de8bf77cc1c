package fluent

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"
)

// BenchmarkRecord builds a record of twelve fields.
func BenchmarkRecord(b *testing.B) {
	var r Record
	at := time.Unix(1700000000, 123456789).UTC()
	b.ReportAllocs()
	for b.Loop() {
		r.Reset().Int64("time", at.UnixNano()).Str("host", "db.example.com").Str("method", "POST").Str("path", "/tables/users/items")
		r.Str("query", "consistent=1").Int("status", 200).Int("bytes_in", 412).Int("bytes_out", 18231)
		r.Duration("duration", 1834*time.Microsecond).Str("agent", "aws-sdk-go-v2/1.47.6 os/linux lang/go")
		r.Str("request_id", "0f3b2c1d9e8a4b5c").Bool("tls", true)
		if _, err := r.payload(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandler also measures slog's own handler.
func BenchmarkHandler(b *testing.B) {
	run := func(name string, h slog.Handler) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			l := slog.New(h).With("service", "api", "version", 3)
			ctx := context.Background()
			for b.Loop() {
				l.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("method", "GET"), slog.String("path", "/tables/users"),
					slog.Int("status", 200), slog.Duration("took", time.Millisecond), slog.Bool("tls", true))
			}
		})
	}
	run("ours", newHandler(&discard{}, "app", nil))
	run("slog-json", slog.NewJSONHandler(io.Discard, nil))
}
