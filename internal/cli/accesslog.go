package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// sink is an access log that is open.
type sink struct {
	telemetry.Sink
	lines *telemetry.JSONLines // nil when nothing is logged
	file  *telemetry.File      // nil unless it goes to one
}

// openSink opens what the configuration asks for.
func openSink(c *config.Config, stdout io.Writer) (*sink, error) {
	a := &c.AccessLog
	s := &sink{Sink: telemetry.Discard()}
	var w io.WriteCloser
	switch a.To {
	case "stdout":
		w = keepOpen{stdout}
	case "file":
		f, err := telemetry.OpenFile(c.Resolve(a.File))
		if err != nil {
			return nil, err
		}
		s.file, w = f, f
	default:
		return s, nil
	}
	s.lines = telemetry.NewJSONLines(w, 0, a.Fields...)
	s.Sink = telemetry.Sample(s.lines, a.Sample)
	return s, nil
}

// keepOpen writes to something that is not ours to close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// sinks counts over all access logs that a process has had, so that the
// figures go on when a reload changes the log.
type sinks struct {
	mu   sync.Mutex // leaf
	open []*sink    // the last one is in use, those before it are being closed
	past telemetry.LogStats
}

func (l *sinks) current() *sink {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[len(l.open)-1]
}

func (l *sinks) use(s *sink) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, s)
}

// closeTimeout bounds how long a log that does not take its lines is waited for.
const closeTimeout = 5 * time.Second

// retire closes a sink; its figures stay.
func (l *sinks) retire(s *sink, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		log.Warn("the access log could not be closed properly", "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.open {
		if l.open[i] == s {
			l.past = sum(l.past, s)
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

func sum(t telemetry.LogStats, s *sink) telemetry.LogStats {
	if s.lines == nil {
		return t
	}
	n := s.lines.Stats()
	return telemetry.LogStats{Written: t.Written + n.Written, Dropped: t.Dropped + n.Dropped, Failed: t.Failed + n.Failed}
}

func (l *sinks) stats() telemetry.LogStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.past
	for _, s := range l.open {
		t = sum(t, s)
	}
	return t
}
