package cli

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/config"
)

// clusterTLS returns the configuration for connections of both directions between nodes: each
// side needs a certificate of the cluster's authorities. It is nil without TLS.
func clusterTLS(cfg *config.Config) (*tls.Config, error) {
	t := cfg.Cluster.TLS
	if t == nil {
		return nil, nil
	}
	secure, err := clientTLS(cfg, "", t.CA, t.Cert, t.Key)
	if err != nil {
		return nil, err
	}
	secure.MinVersion = tls.VersionTLS13
	secure.ClientCAs, secure.ClientAuth = secure.RootCAs, tls.RequireAndVerifyClientCert
	return secure, nil
}

// clusterMember returns the description of this node for the other members, without its
// instance. bound returns the address of a service's listener for DAX clients, or nil before
// it is open.
func clusterMember(ctx context.Context, cfg *config.Config, bound func(service string) net.Addr) (protocol.Member, error) {
	c := cfg.Cluster
	m := protocol.Member{
		Node: c.NodeName(), Address: c.Advertised(), Zone: c.Zone,
		DAX: map[string][]string{}, Services: map[string]string{},
	}
	for i := range cfg.Services {
		s := &cfg.Services[i]
		m.Services[s.Name] = serviceDigest(s)
		if daxOf(s) == nil {
			continue
		}
		list, err := memberDAX(ctx, c, daxOf(s), bound(s.Name))
		if err != nil {
			return m, fmt.Errorf("service %s: %w", s.Name, err)
		}
		m.DAX[s.Name] = list
	}
	return m, nil
}

// serviceDigest returns a digest of the settings that must be equal on all nodes: those that
// determine which data the service's cache has.
func serviceDigest(s *config.Service) string {
	parts := append([]string{s.Type}, originNames(s)...)
	if s.DynamoDB != nil {
		parts = append(parts, s.DynamoDB.Region)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}

// memberDAX returns the addresses at which DAX clients reach a listener of this node: those of
// advertise, else that of listen, else the node's own host.
func memberDAX(ctx context.Context, c *config.Cluster, d *config.DAX, bound net.Addr) ([]string, error) {
	listen := string(d.Listen)
	if bound != nil {
		listen = bound.String()
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	found, err := addresses(ctx, d.Advertise)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, a := range found {
		own := port
		if a.Port() != 0 {
			own = strconv.Itoa(int(a.Port()))
		}
		list = append(list, net.JoinHostPort(a.Addr().String(), own))
	}
	if list != nil {
		return list, nil
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(c.Advertised()); err != nil {
			return nil, err
		}
	}
	return []string{net.JoinHostPort(host, port)}, nil
}

// cluster refuses a configuration with another cluster than the one that runs. Other members
// identify this node by these settings, so it would have to leave and join again.
func (c *change) cluster() error {
	if c.node.cfg == nil {
		return nil // the first configuration
	}
	changed := config.ClusterChanges(c.node.cfg, c.cfg)
	switch {
	case len(changed) == 0:
		return nil
	case c.node.cfg.Cluster == nil:
		return errors.New("cluster: it can't be added while this node runs; restart it to join the cluster")
	case c.cfg.Cluster == nil:
		return errors.New("cluster: it can't be removed while this node runs; restart it to leave the cluster")
	}
	return fmt.Errorf("%s can't change while this node is in its cluster; restart it, one node after the other", strings.Join(changed, ", "))
}
