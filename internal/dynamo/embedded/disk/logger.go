package disk

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
)

// logger forwards pebble's errors to the log. It drops pebble's reports of its background
// work, which don't concern operators.
type logger struct{ log *slog.Logger }

// Infof drops the report.
func (logger) Infof(string, ...any) {}

// Errorf logs an error after which pebble continues.
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("embedded store: " + fmt.Sprintf(format, args...))
}

// Fatalf ends the process, as pebble expects: pebble could not write its log or manifest, so
// no further write could be acknowledged. A full disk does not lead here; see space.go.
func (l logger) Fatalf(format string, args ...any) {
	l.log.Error("embedded store: the disk fails; the process ends before it acknowledges what is not on it: " + fmt.Sprintf(format, args...))
	os.Exit(1)
}

// openLogger is the logger of a directory, both while it is being opened and after that.
type openLogger struct {
	logger
	opened atomic.Bool
	fatal  chan error // receives fatal errors until opened is set
}

// Fatalf ends only the goroutine if the directory is not open yet; openPebble then returns
// the error.
func (l *openLogger) Fatalf(format string, args ...any) {
	if l.opened.Load() {
		l.logger.Fatalf(format, args...)
	}
	select {
	case l.fatal <- fmt.Errorf(format, args...):
	default:
	}
	runtime.Goexit()
}
