package config

import "path/filepath"

// DAX is a second listener of the service, for applications that use a client of DAX,
// Amazon's accelerator. It has the same cache and the same access keys. dax.md describes how
// to point a client at it.
type DAX struct {
	// Address that DAX clients connect to, as `host:port`; 8111 is the usual port, and 9111
	// with TLS.
	Listen Address `yaml:"listen,self" required:"clients need an address to connect to"`
	// Addresses that clients get as the nodes to connect to, if they differ from the address
	// that clients connected to first: with published ports of containers, a tunnel or a
	// balancer that forwards connections. At most one address of IPv4 and one of IPv6. A
	// name is looked up at the start and on SIGHUP. The default port is that of listen.
	Advertise []Advertised `yaml:"advertise,many"`
	// Availability zone of this node, as reported to clients. In a cluster, the default is
	// that of the section cluster, if it has one.
	Zone string `yaml:"zone" default:"kasoku-1a"`
	// Directory for the numbered lists of attribute names. Clients keep the numbers while
	// they run, so the directory must survive a restart of Kasoku. Several services may
	// share it; several processes may not. Left out: kasoku-dax beside the directory of an
	// embedded store, else kasoku-dax beside this file. Takes effect at a restart.
	Lists string `yaml:"lists"`
	// TLS for these connections; left out: that of the service. DAX clients have no
	// certificate of their own, so this listener needs its own TLS settings if the service's
	// tls has a client_ca.
	TLS *TLS `yaml:"tls"`
	// Limits for this listener, for each client and in total.
	Limits DAXLimits `yaml:"limits"`
}

// DAXLimits holds the limits of a listener for DAX clients. A connection of an authenticated
// client is not closed for being idle, because these clients treat that as a failure.
type DAXLimits struct {
	// Maximum number of connections; one more is closed at once. A client has one connection
	// for each request in flight, and makes one every few seconds to list the nodes. An idle
	// connection costs a few kilobytes and a file descriptor. The limit on open files may
	// lower this one, as limits.connections.
	Connections int `yaml:"connections" default:"16384" min:"1"`
	// Maximum number of connections from one client address (in IPv6: one /64); one more is
	// closed at once. Left out: a quarter of `connections`, and at least 16. The value of
	// `connections` turns the limit off. Behind a load balancer all connections have its
	// address, so raise the limit there.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Maximum size of a request; beyond it the client gets an error and its connection is
	// closed.
	RequestBytes Size `yaml:"request_bytes" default:"20MiB" min:"64KiB" max:"1GiB"`
	// Maximum size of all buffered requests that are larger than a few kilobytes, complete
	// or not; beyond it requests are throttled.
	BufferedBytes Size `yaml:"buffered_bytes" default:"256MiB" min:"1MiB" max:"1TiB"`
	// Maximum time for the first bytes of a new connection, including the TLS handshake;
	// beyond it the connection is closed.
	PreambleTimeout Duration `yaml:"preamble_timeout" default:"10s" min:"1ms"`
	// Maximum idle time of a connection before its client is authenticated or, with auth
	// mode none, before its first request; beyond it the connection is closed.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
	// Maximum time for a request to arrive, counted from its first byte; beyond it the
	// connection is closed. Some clients pause in the middle of a request to send another
	// one over a second connection.
	ReceiveTimeout Duration `yaml:"receive_timeout" default:"60s" min:"1ms"`
	// Maximum time for a request as a whole, including retries and waiting; beyond it the
	// client is answered that the service is unavailable.
	RequestTimeout Duration `yaml:"request_timeout" default:"30s" min:"1ms"`
	// Maximum time that a client may accept no byte of an answer; beyond it the connection
	// is closed.
	WriteTimeout Duration `yaml:"write_timeout" default:"30s" min:"1ms"`
	// Maximum number of requests per second from one client address (in IPv6: one /64), with
	// bursts of one second's worth; beyond it requests are throttled. 0: no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"0" min:"0"`
}

// PerClient returns the maximum number of connections of one client address.
func (l *DAXLimits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// DAXTLS returns the encryption of the service's listener for DAX clients, or nil if it has
// none.
func (s *Service) DAXTLS() *TLS {
	if own := s.DynamoDB.DAX.TLS; own != nil {
		return own
	}
	return s.TLS
}

// DAXLists returns the directory for the attribute lists of a service with a DAX listener. It
// is empty if they are kept in memory, beside the store.
func (c *Config) DAXLists(s *Service) string {
	d := s.DynamoDB
	if d.DAX.Lists != "" {
		return c.Resolve(d.DAX.Lists)
	}
	if d.Origin == embeddedMemory {
		return ""
	}
	beside := c.Resolve("kasoku-dax")
	if store := d.Origin.Dir(); store != "" {
		if dir, err := filepath.Abs(c.Resolve(store)); err == nil {
			beside = filepath.Join(filepath.Dir(dir), "kasoku-dax")
		}
	}
	return beside
}
