package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/forward"
)

// accessLog is an access log that is open.
type accessLog struct {
	telemetry.Sink
	stats func() telemetry.LogStats
	file  *telemetry.File // nil unless it goes to one

	identity [32]byte      // of the TLS files that it was opened with
	spill    string        // absolute; "" unless it keeps records there
	handover *forward.Sink // to be opened when another has let go of spill; or nil
	released chan struct{} // closed when spill is let go of
}

// openAccessLog opens what the configuration asks for. If it asks for a directory
// that one of busy has, the sink waits for opening.
func openAccessLog(c *config.Config, stdout io.Writer, busy []*accessLog, log *slog.Logger) (*accessLog, error) {
	a := &c.AccessLog
	s := &accessLog{
		Sink: telemetry.Discard(), released: make(chan struct{}),
		stats: func() telemetry.LogStats { return telemetry.LogStats{} },
	}
	switch a.To {
	case "stdout":
		s.write(nopCloser{stdout}, a)
	case "file":
		f, err := telemetry.OpenFile(c.Resolve(a.File))
		if err != nil {
			return nil, err
		}
		s.file = f
		s.write(f, a)
	case "fluentd":
		if err := s.forward(c, busy, log); err != nil {
			return nil, fmt.Errorf("access log: %w", err)
		}
	}
	return s, nil
}

func (s *accessLog) write(w io.WriteCloser, a *config.AccessLog) {
	lines := telemetry.NewJSONLines(w, 0, a.Fields...)
	s.stats = lines.Stats
	s.Sink = telemetry.Sample(lines, a.Sample)
}

func (s *accessLog) forward(c *config.Config, busy []*accessLog, log *slog.Logger) error {
	f, err := forwardConfig(c, log)
	if err != nil {
		return err
	}
	s.spill, s.identity = f.Spill, forwardFiles(c)
	var fs *forward.Sink
	if spillOwner(busy, s.spill) != nil {
		fs = forward.Prepare(f)
		s.handover = fs
	} else if fs, err = forward.New(f); err != nil {
		return err
	}
	s.stats = fs.Stats
	s.Sink = telemetry.Sample(fs, c.AccessLog.Sample)
	return nil
}

// spillOwner is the last sink that has the directory, or nil.
func spillOwner(open []*accessLog, spill string) *accessLog {
	for _, s := range slices.Backward(open) {
		if spill != "" && s.spill == spill {
			return s
		}
	}
	return nil
}

func forwardConfig(c *config.Config, log *slog.Logger) (forward.Config, error) {
	f := c.AccessLog.Fluentd
	out := forward.Config{
		Tag: f.Tag, Fields: c.AccessLog.Fields, SpillMax: int64(f.SpillMax), Log: log,
		Options: []fluent.Option{
			fluent.WithAck(f.Ack), fluent.WithMemory(int64(f.Memory)), fluent.WithFlushInterval(f.FlushInterval.Std()),
			fluent.WithCompression(map[string]fluent.Compression{"gzip": fluent.Gzip, "zstd": fluent.Zstd}[f.Compression]),
		},
	}
	for _, s := range f.Servers {
		out.Servers = append(out.Servers, string(s))
	}
	option := func(o fluent.Option) { out.Options = append(out.Options, o) }
	if f.Balance == "round" {
		option(fluent.WithBalance())
	}
	if f.SharedKey() != "" {
		option(fluent.WithSharedKey(f.SharedKey()))
	}
	if f.Username != "" {
		option(fluent.WithUser(f.Username, f.Password()))
	}
	if f.TLS != nil {
		secure, err := clientTLS(c, f.TLS.ServerName, f.TLS.CA, f.TLS.Cert, f.TLS.Key)
		if err != nil {
			return out, err
		}
		option(fluent.WithTLS(secure))
	}
	if f.Spill != "" {
		var err error
		if out.Spill, err = filepath.Abs(c.Resolve(f.Spill)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// forwardFiles tells what the files of the connection's encryption hold now. One
// that can't be read has been told by the check, or changes right now.
func forwardFiles(c *config.Config) (identity [32]byte) {
	if c.AccessLog.Fluentd == nil || c.AccessLog.Fluentd.TLS == nil {
		return identity
	}
	t := c.AccessLog.Fluentd.TLS
	all := sha256.New()
	for _, file := range []string{t.CA, t.Cert, t.Key} {
		data, _ := os.ReadFile(c.Resolve(file))
		sum := sha256.Sum256(data)
		all.Write(sum[:])
	}
	return [32]byte(all.Sum(nil))
}

// nopCloser writes to something that is not ours to close.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// accessLogs counts over all access logs that a process has had, so that the
// figures go on when a reload changes the log.
type accessLogs struct {
	mu   sync.Mutex   // held while sinks tell their figures
	open []*accessLog // the last one is in use, those before it are being closed
	past telemetry.LogStats
}

func (l *accessLogs) current() *accessLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[len(l.open)-1]
}

// all are the sinks that aren't closed, the one in use last.
func (l *accessLogs) all() []*accessLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

func (l *accessLogs) use(s *accessLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, s)
}

// closeTimeout bounds how long a log that does not take its lines is waited for.
const closeTimeout = 5 * time.Second

// retire closes a sink; its figures stay.
func (l *accessLogs) retire(s *accessLog, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		log.Warn("the access log could not be closed properly", "error", err)
	}
	close(s.released)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.open {
		if l.open[i] == s {
			left := s.stats()
			// What is on disk is another's now.
			left.Pending, left.Spilled, left.SpillBytes, left.Trouble = 0, 0, 0, ""
			l.past.Add(left)
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

// openAfter opens a sink that waits for another's directory, once that is free.
func (s *accessLog) openAfter(previous *accessLog, log *slog.Logger) {
	<-previous.released
	if err := s.handover.Open(); err != nil {
		log.Error("access log: the spill directory could not be taken over", "error", err)
	}
}

func (l *accessLogs) stats() telemetry.LogStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.past
	for _, s := range slices.Backward(l.open) {
		t.Add(s.stats())
	}
	return t
}
