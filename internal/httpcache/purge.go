package httpcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
)

// Purge drops stored responses, or marks them as stale. When it has returned, no later
// request gets an older response.
func (s *Service) Purge(ctx context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	if r.ByTable() {
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s has URLs, not tables; name %s", admin.ErrInput, s.name, purge.List("a ", " or "))
	}
	cfg := &s.settings.Load().cfg
	p := store.Purge{Selector: r.Selector, Soft: r.Soft}
	if r.Selector.Kind.InURL() {
		if err := cfg.checkScheme(r.Selector.Text); err != nil {
			return admin.PurgeResult{}, fmt.Errorf("%w: %w", admin.ErrInput, err)
		}
	}
	if r.Selector.Kind == purge.URL {
		p.Selector.Text = bareURL(cfg.JSONP, r.Selector.Text)
	}
	err := s.store.Purge(ctx, p)
	if errors.Is(err, store.ErrNotDurable) || errors.Is(err, store.ErrNotEverywhere) {
		return admin.PurgeResult{}, err
	}
	if err != nil {
		return admin.PurgeResult{}, fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return admin.PurgeResult{Dropped: describePurge(p, s.name), Tags: 1}, nil
}

// checkScheme returns an error if no client can request a URL, prefix or pattern, because
// clients speak to Kasoku in the other scheme.
func (c *Config) checkScheme(url string) error {
	scheme, rest, found := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	if !found || c.Scheme == "" || scheme == c.Scheme || scheme != "http" && scheme != "https" {
		return nil
	}
	return fmt.Errorf("nothing was dropped: no request matches %s, because clients speak %s to service %s; write %s://%s", url, c.Scheme, c.Name, c.Scheme, rest)
}

// describePurge returns the result of a purge in words.
func describePurge(p store.Purge, service string) string {
	what := p.Selector.String()
	if p.Selector.Kind == purge.All {
		what += " of service " + service
	}
	if p.Soft {
		what += ", by marking it as stale"
	}
	return what
}

// purge answers PURGE: it drops the URL of the request.
func (c *call) purge() {
	client := c.x.Record.Client.Addr().Unmap()
	for _, p := range c.set.cfg.Purgers {
		if p.Contains(client) {
			if err := c.svc.store.PurgeKey(c.x.Context(), c.key); err != nil {
				c.reject(http.StatusInternalServerError, err.Error())
				return
			}
			c.svc.log.Info("purged", slog.String("dropped", string(c.key)), slog.String("by", client.String()))
			c.refuse(http.StatusOK, "purged")
			c.count(policy.PurgeAsked, nil)
			return
		}
	}
	c.reject(http.StatusForbidden, "this address may not purge")
}
