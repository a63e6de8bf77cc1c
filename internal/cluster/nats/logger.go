package nats

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// The server warns of each attempt to connect that fails, from either side, so a wrong
// certificate or a port scan would fill the log.
const (
	firstWarnings   = 10
	warningInterval = 10 * time.Second
)

// logger passes the server's log on. Notices are for debugging, since they report each
// connection.
type logger struct {
	log      *slog.Logger
	fatal    chan error // the first one
	warnings rate.Sometimes
	skipped  atomic.Uint64 // warnings since the last one that was logged
}

func newLogger(log *slog.Logger) *logger {
	return &logger{log: log, fatal: make(chan error, 1), warnings: rate.Sometimes{First: firstWarnings, Interval: warningInterval}}
}

// write logs the server's message as an attribute of a message of ours.
func (l *logger) write(level slog.Level, format string, args []any, more ...slog.Attr) {
	if l.log.Enabled(context.Background(), level) {
		more = append(more, slog.String("message", fmt.Sprintf(format, args...)))
		l.log.LogAttrs(context.Background(), level, "NATS server", more...)
	}
}

// warn logs the first warnings, and then one in each interval.
func (l *logger) warn(format string, args []any) {
	l.skipped.Add(1)
	l.warnings.Do(func() {
		others := l.skipped.Swap(0) - 1
		l.write(slog.LevelWarn, format, args, slog.Uint64("others_since_last", others))
	})
}

func (l *logger) Warnf(format string, args ...any)   { l.warn(format, args) }
func (l *logger) Errorf(format string, args ...any)  { l.warn(format, args) }
func (l *logger) Noticef(format string, args ...any) { l.write(slog.LevelDebug, format, args) }
func (l *logger) Debugf(format string, args ...any)  { l.write(slog.LevelDebug, format, args) }
func (l *logger) Tracef(format string, args ...any)  { l.write(slog.LevelDebug, format, args) }

// Fatalf keeps the error for Start: the server calls it instead of returning one.
func (l *logger) Fatalf(format string, args ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, args...):
	default:
	}
	l.write(slog.LevelError, format, args)
}
