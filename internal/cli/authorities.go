package cli

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/acme"
	"github.com/kasoku/kasoku/internal/config"
)

// authorities holds the managers of certificates that are obtained by ACME. Listeners with
// the same settings share one.
type authorities struct {
	list atomic.Pointer[[]authority] // the slice is replaced as a whole, with Node.applying held
}

// authority is a manager and the settings that it was made for.
type authority struct {
	settings string
	manager  *acme.Manager
}

func (a *authorities) all() []authority {
	if list := a.list.Load(); list != nil {
		return *list
	}
	return nil
}

// manager returns the manager for the settings s, which is new and not started if there is
// none yet. The content of the ca file is part of the settings.
func (a *authorities) manager(c *config.Config, s *config.ACME, log *slog.Logger) (*acme.Manager, error) {
	cfg := acme.Config{
		Domains: slices.Sorted(slices.Values(s.Domains)), Email: s.Email, Directory: s.Directory, Folder: c.Resolve(s.Cache), Log: log,
	}
	var roots []byte
	if s.CA != "" {
		var err error
		if roots, err = os.ReadFile(c.Resolve(s.CA)); err != nil {
			return nil, err
		}
		cfg.Roots = x509.NewCertPool()
		if !cfg.Roots.AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s holds no PEM certificate", s.CA)
		}
	}
	settings := fmt.Sprintf("%q %q %q %q %q", cfg.Domains, s.Email, s.Directory, cfg.Folder, roots)
	list := a.all()
	if i := slices.IndexFunc(list, func(other authority) bool { return other.settings == settings }); i >= 0 {
		return list[i].manager, nil
	}
	m, err := acme.New(cfg)
	if err != nil {
		return nil, err
	}
	list = append(slices.Clone(list), authority{settings, m})
	a.list.Store(&list)
	return m, nil
}

// keep starts the managers that are in use, and closes and removes the others.
func (a *authorities) keep(used func(*acme.Manager) bool) {
	var kept []authority
	for _, other := range a.all() {
		if used(other.manager) {
			other.manager.Start()
			kept = append(kept, other)
		} else {
			other.manager.Close()
		}
	}
	a.list.Store(&kept)
}

// response returns the answer to a request of an authority with the given path, if one is
// expected.
func (a *authorities) response(path string) (body string, ok bool) {
	for _, other := range a.all() {
		if body, ok = other.manager.Response(path); ok {
			return body, true
		}
	}
	return "", false
}

// obtains reports whether a listener of the node uses m. The caller holds applying.
func (n *Node) obtains(m *acme.Manager) bool {
	uses := func(c *certificates) bool { return c != nil && c.cur.Load().manager == m }
	return slices.ContainsFunc(n.mounts, func(mount *mount) bool {
		return uses(mount.certs) || mount.dax != nil && uses(mount.dax.certs)
	})
}
