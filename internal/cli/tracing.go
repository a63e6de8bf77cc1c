package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry/tracing"
)

// tracing makes a new exporter of spans, with which the files of its configuration are read again.
func (c *change) tracing() error {
	n := c.node
	var next *tracing.Exporter
	if c.cfg.Tracing != nil {
		t, err := tracingConfig(c.cfg)
		if err != nil {
			return fmt.Errorf("tracing: %w", err)
		}
		t.Log = n.log
		next = n.tracer.NewExporter(t)
		c.undo = append(c.undo, func() { closeExporter(next) })
	}
	c.commit = append(c.commit, func() {
		if former := n.tracer.Use(next); former != nil {
			n.retirement.Go(func() { closeExporter(former) })
		}
	})
	return nil
}

// closeExporter sends the spans that wait, for closeTimeout at most. e may be nil.
func closeExporter(e *tracing.Exporter) {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	e.Close(ctx)
}

func tracingConfig(c *config.Config) (tracing.Config, error) {
	t := c.Tracing
	out := tracing.Config{
		URL: t.Endpoint(), Headers: http.Header{}, Sample: t.Sample, PerSecond: t.RequestsPerSecond,
		Name: t.ServiceName, Version: thisBuild().Version, Services: map[string]tracing.Service{},
	}
	for i := range t.Headers {
		out.Headers.Set(t.Headers[i].Name, t.Headers[i].Value())
	}
	if c.Cluster != nil {
		out.Instance = c.Cluster.NodeName()
	}
	for i := range c.Services {
		out.Services[c.Services[i].Name] = tracedService(&c.Services[i])
	}
	if t.TLS == nil {
		return out, nil
	}
	var err error
	out.TLS, err = clientTLS(c, t.TLS.ServerName, t.TLS.CA, t.TLS.Cert, t.TLS.Key)
	return out, err
}

// tracedService describes a service for its spans.
func tracedService(s *config.Service) tracing.Service {
	out := tracing.Service{
		System: map[string]string{"dynamodb": "aws.dynamodb", "couchdb": "couchdb", "memcached": "memcached"}[s.Type],
		HTTP:   s.Type != "dynamodb", Fallback: s.Type == "memcached",
	}
	if names := originNames(s); len(names) == 1 && !out.Fallback {
		out.Host, out.Port = hostPort(names[0])
	}
	return out
}

// hostPort returns the host and the port of a URL; "" if it has none.
func hostPort(text string) (host string, port int) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", 0
	}
	if port, err = strconv.Atoi(u.Port()); err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return u.Hostname(), port
}
