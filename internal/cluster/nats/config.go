// Package nats sends messages between the members of a cluster over NATS: through a server
// in this process that is connected to the ones of other nodes, or through a deployment of
// the user's.
//
// The messages are those of NATS without JetStream: one may be lost, delivered twice, late,
// or after one that was sent later. Callers have to detect and repair this. A frame is bytes
// without a meaning to this package.
//
// # Subjects
//
//	kasoku.<cluster>.all             frames for all members
//	kasoku.<cluster>.<instance>      frames for one member
//	kasoku.<cluster>.<instance>.ask  requests to one member
//	kasoku.<cluster>.reply.>         replies
//
// So a user of a shared deployment needs the permission to publish and to subscribe below
// kasoku.<cluster>, for example with the subject kasoku.orders.>. The server in the process
// accepts messages of up to 8 MiB, a deployment as many bytes as it is configured for.
//
// # The server in the process
//
// Its listener for other nodes (routes) requires certificates of both sides, except on
// loopback. A certificate has to be valid for the host of the address that other nodes
// connect to, in Config.Join or Config.Advertise, or for the first name in Config.Join if
// that host is an IP address.
//
// The server also opens a listener for clients on a random port of 127.0.0.1, because it
// connects to no other node without one. It refuses every client that does not connect from
// within the process.
//
// With Config.Copies the servers of some nodes have JetStream, for the stream that package bucket
// uses. These servers elect leaders among themselves; a leader that stops hands over at once, and
// one that dies is replaced after 4 to 9 seconds, which is not configurable. JetStream is off
// otherwise.
//
// Nodes announce the addresses of others to each other, but a node whose announced address
// was unreachable for a while is not tried again, and of a name with several addresses the
// server tries a random one. Both may split the nodes into groups that never meet. The
// transport therefore resolves the names in Config.Join itself, every few seconds, and the
// caller passes the addresses of all members to SetPeers. The server tries all of these
// until they are removed. It waits for a second before it restores a route that was reset;
// Transport.Repair does so at once.
package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// Config describes a transport.
type Config struct {
	Cluster     string      // the name of the cluster: letters, digits, '-' and '_'
	Name        string      // the name of this node, for logs; no spaces
	Listen      string      // host:port for the routes of other nodes
	Advertise   string      // host:port announced to other nodes; empty: as they see this node
	Join        []string    // host:port of other nodes; a name may resolve to several addresses
	TLS         *tls.Config // for routes, both sides; may be nil on loopback. With URL: of its client
	URL         string      // the user's deployment, in the place of a server in the process; may contain credentials
	Credentials string      // the path of a file with the credentials for URL
	Copies      Copies      // of streams, in the servers of this process and others; not with URL
	Log         *slog.Logger

	// lookup resolves names; nil: the system's resolver
	lookup func(ctx context.Context, host string) ([]string, error)
}

// Copies describes which servers of the nodes keep streams of JetStream.
type Copies struct {
	// Nodes is the number of nodes that keep copies; 0: the servers are without JetStream.
	// All nodes of the cluster need the same number. At the first start all of them have to
	// be up, later more than half.
	Nodes int
	// Directory has the copies of this node; empty: it is not one of them. If it is, no other
	// node may have its name.
	Directory string
}

var clusterName = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// check returns an error if the configuration can't work.
func (cfg *Config) check() error {
	if !clusterName().MatchString(cfg.Cluster) {
		return fmt.Errorf("cluster name %q: letters, digits, '-' and '_' are valid", cfg.Cluster)
	}
	if cfg.URL != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen address of the cluster: %w", err)
	}
	for _, address := range append([]string{cfg.Advertise}, cfg.Join...) {
		if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
			return fmt.Errorf("address of a node: %w", err)
		}
	}
	if cfg.TLS == nil && !isLoopback(host) {
		return fmt.Errorf("listen address %s of the cluster is not on loopback: certificates are required", cfg.Listen)
	}
	if cfg.TLS != nil && cfg.TLS.ClientCAs == nil && cfg.TLS.RootCAs == nil {
		return errors.New("TLS of the cluster has no certificate authority: any certificate would be valid")
	}
	return nil
}

// isLoopback reports whether host is an address or the name of the loopback interface.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
