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
func (s *Service) Purge(_ context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	if r.ByTable() {
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s has URLs, not tables; name %s", admin.ErrInput, s.name, purge.List("a ", " or "))
	}
	cfg, selector := &s.settings.Load().cfg, selectorOf(&r)
	p := store.Purge{Selector: selector, Soft: r.Soft}
	if selector.Kind.InURL() {
		if err := cfg.checkScheme(selector.Text); err != nil {
			return admin.PurgeResult{}, fmt.Errorf("%w: %w", admin.ErrInput, err)
		}
	}
	if selector.Kind == purge.URL {
		p.Selector.Text = bareURL(cfg.JSONP, selector.Text)
	}
	err := s.store.Purge(p)
	if errors.Is(err, store.ErrNotDurable) {
		return admin.PurgeResult{}, err
	}
	if err != nil {
		return admin.PurgeResult{}, fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return admin.PurgeResult{Dropped: describePurge(p, s.name), Tags: 1}, nil
}

// selectorOf returns the selector of a request; of several, the narrowest.
func selectorOf(r *admin.PurgeRequest) purge.Selector {
	switch {
	case r.URL != "":
		return purge.By(purge.URL, r.URL)
	case r.Prefix != "":
		return purge.By(purge.Prefix, r.Prefix)
	case r.Pattern != "":
		return purge.By(purge.Pattern, r.Pattern)
	case r.Tag != "":
		return purge.By(purge.Tag, r.Tag)
	}
	return purge.Selector{}
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
			if err := c.svc.store.PurgeKey(c.key, false); err != nil {
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
