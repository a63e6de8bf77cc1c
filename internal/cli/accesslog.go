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

// accessLog is an open access log.
type accessLog struct {
	telemetry.Sink
	stats func() telemetry.LogStats
	file  *telemetry.File // nil unless it writes to a file

	identity [32]byte      // of the TLS files at the time of opening
	spill    string        // absolute; "" unless it keeps records there
	handover *forward.Sink // opened once another log has released spill; or nil
	released chan struct{} // closed when spill is released
}

// openAccessLog opens the configured access log. If one of busy has its spill directory, the
// log is opened only when openAfter is called.
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

// spillOwner returns the last log that has the spill directory, or nil.
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

// forwardFiles returns a hash of the connection's TLS files. It ignores a file that can't be
// read: the check has reported it, or it is changing right now.
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

// nopCloser writes to a writer that the log does not own.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// accessLogs sums up the figures of all access logs of a process, so that they continue when
// a reload changes the log.
type accessLogs struct {
	mu   sync.Mutex   // held while figures are summed up
	open []*accessLog // the last one is in use, the others are being closed
	past telemetry.LogStats
}

func (l *accessLogs) current() *accessLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[len(l.open)-1]
}

// all returns the logs that aren't closed, the one in use last.
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

// closeTimeout is the maximum time that closing a log may take.
const closeTimeout = 5 * time.Second

// retire closes a log and keeps its figures.
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
			// Another log has the spill directory now.
			left.Pending, left.Spilled, left.SpillBytes, left.Trouble = 0, 0, 0, ""
			l.past.Add(left)
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

// openAfter opens a log whose spill directory previous has, once previous has released it.
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
