package disk

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
)

// logger passes on what pebble has to say. Its reports of what it does in the
// background are not for operators.
type logger struct{ log *slog.Logger }

// Infof drops the report.
func (logger) Infof(string, ...any) {}

// Errorf logs an error that pebble lives on after.
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("embedded store: " + fmt.Sprintf(format, args...))
}

// Fatalf ends the process, as pebble expects: it could not write its log or its
// list of tables, so that nothing could be acknowledged any more. A full disk
// does not come here; see full.go.
func (l logger) Fatalf(format string, args ...any) {
	l.log.Error("embedded store: the disk fails; the process ends before it acknowledges what is not on it: " + fmt.Sprintf(format, args...))
	os.Exit(1)
}

// openLogger is the logger of a directory while it is opened, and afterwards.
type openLogger struct {
	logger
	opened atomic.Bool
	fatal  chan error // takes what was fatal before opened
}

// Fatalf ends the goroutine if the directory is not open yet; openPebble gives up.
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
