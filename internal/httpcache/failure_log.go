package httpcache

import (
	"bytes"
	"log/slog"

	"github.com/kasoku/kasoku/internal/http1"
)

// logOriginFault logs that an origin sent no answer, or an incomplete one. It logs only the
// path of the target, since the query may contain secrets.
func (s *Service) logOriginFault(method, target []byte, header http1.Fields, err error) {
	path, _, _ := bytes.Cut(target, []byte{'?'})
	s.failures.Log(s.log, err, slog.String("operation", Operation(method)), slog.String("path", string(path)),
		slog.String("request_id", string(header.Get("X-Request-Id"))))
}

// logCut counts and logs an answer whose body ended early because of err.
func (c *call) logCut(err error) {
	c.svc.metrics.cut.Inc()
	c.x.Record.Error = err.Error()
	r := &c.x.Request
	c.svc.failures.Log(c.svc.log, err, slog.String("operation", Operation(r.Method)), slog.String("path", string(r.Path)),
		slog.String("request_id", string(c.x.Record.RequestID)))
}
