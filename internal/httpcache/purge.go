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
)

// Purge drops stored responses, or marks them as stale. When it has returned, no later
// request gets an older response.
func (s *Service) Purge(_ context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	if r.ByTable() {
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s has URLs, not tables; name a url, a prefix, a pattern or a tag", admin.ErrInput, s.name)
	}
	cfg := &s.settings.Load().cfg
	for _, what := range []string{r.URL, r.Prefix, r.Pattern} {
		if err := cfg.checkScheme(what); err != nil {
			return admin.PurgeResult{}, fmt.Errorf("%w: %w", admin.ErrInput, err)
		}
	}
	p := store.Purge{URL: bareURL(cfg.JSONP, r.URL), Prefix: r.Prefix, Pattern: r.Pattern, Tag: r.Tag, Soft: r.Soft}
	p.All = r.URL == "" && r.Prefix == "" && r.Pattern == "" && r.Tag == ""
	err := s.store.Purge(p)
	if errors.Is(err, store.ErrNotDurable) {
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
	what := "everything of service " + service
	switch {
	case p.URL != "":
		what = p.URL
	case p.Prefix != "":
		what = "all that begins with " + p.Prefix
	case p.Pattern != "":
		what = "all that matches " + p.Pattern
	case p.Tag != "":
		what = "all that is tagged " + p.Tag
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
