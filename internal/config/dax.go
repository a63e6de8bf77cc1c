package config

import "path/filepath"

// DAX is a second listener of the service, for applications that use a client of DAX,
// Amazon's accelerator. They see the same cache, with the same keys. dax.md tells how a
// client is pointed at it.
type DAX struct {
	// Address that those clients connect to, as `host:port`; 8111 is their usual port, and
	// 9111 with TLS.
	Listen Address `yaml:"listen,self" required:"clients need an address to connect to"`
	// Where clients are told to connect to once they have asked here, if that is something
	// else than the address they came to: with a container's published ports, a tunnel or
	// a balancer that passes connections on. At most one address of IPv4 and one of IPv6.
	// A name is looked up at the start and on SIGHUP; without a port it is that of listen.
	Advertise []Advertised `yaml:"advertise,many"`
	// The availability zone that clients are told this node is in.
	Zone string `yaml:"zone" default:"kasoku-1a"`
	// A directory for the lists of attributes' names that clients say by number. They keep
	// the numbers for as long as they run, so that it has to be there after a restart of
	// Kasoku. Several services may have the same one; several processes may not. Left out, it is kasoku-dax beside the directory of
	// an embedded store, else kasoku-dax beside this file. Takes effect at a restart.
	Lists string `yaml:"lists"`
	// Encryption of these connections; left out, it is that of the service. Clients of DAX
	// show no certificate of their own, so that where the service's tls has a client_ca this listener
	// needs another one.
	TLS *TLS `yaml:"tls"`
	// What one client, or all together, may ask of this listener.
	Limits DAXLimits `yaml:"limits"`
}

// DAXLimits are the limits of a listener for clients of DAX. Connections on which a client
// has proved who it is are not closed for being idle, as these clients take that for a failure.
type DAXLimits struct {
	// Most connections at a time; one more is closed at once. A client has one for each
	// request that it has under way, and makes one every few seconds to ask which nodes
	// there are. An idle one costs some kilobytes and a file descriptor, and the limit on open
	// files may lower it, as limits.connections.
	Connections int `yaml:"connections" default:"16384" min:"1"`
	// Most connections at a time from one client address (in IPv6: one /64); one more is
	// closed at once. Left out, a quarter of connections, but not less than 16; the value of
	// connections turns it off. Behind a load balancer all connections come from its address,
	// so raise it there.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Most bytes of a request; beyond it the client gets an error and its connection
	// ends.
	RequestBytes Size `yaml:"request_bytes" default:"20MiB" min:"64KiB" max:"1GiB"`
	// Most bytes that requests larger than a few kilobytes take together, whole or not;
	// beyond it they are throttled.
	BufferedBytes Size `yaml:"buffered_bytes" default:"256MiB" min:"1MiB" max:"1TiB"`
	// Longest time for a new connection to say what it speaks, the handshake of TLS
	// included; beyond it: it is closed.
	PreambleTimeout Duration `yaml:"preamble_timeout" default:"10s" min:"1ms"`
	// Longest time that a connection stays open without a request until its client has proved
	// who it is, or with auth mode none has made a request; beyond it: it is closed.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
	// Longest time for a request to arrive from its first byte; beyond it the connection
	// is closed. Some clients ask something else, over another connection, in the middle of a request.
	ReceiveTimeout Duration `yaml:"receive_timeout" default:"60s" min:"1ms"`
	// Longest time that a request may take as a whole, retries and waiting included; beyond
	// it the client is told that the service is unavailable.
	RequestTimeout Duration `yaml:"request_timeout" default:"30s" min:"1ms"`
	// Longest time that a client may take nothing of an answer; beyond it the connection
	// is closed.
	WriteTimeout Duration `yaml:"write_timeout" default:"30s" min:"1ms"`
	// Most requests a second from one client address (in IPv6: one /64), with
	// bursts of one second's worth; beyond it they are throttled. 0: no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"0" min:"0"`
}

// PerClient is how many connections one client address may have.
func (l *DAXLimits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// DAXTLS is the encryption of the service's listener for clients of DAX, nil when it has
// none.
func (s *Service) DAXTLS() *TLS {
	if own := s.DynamoDB.DAX.TLS; own != nil {
		return own
	}
	return s.TLS
}

// DAXLists is the directory of the lists of a service that has such a listener.
func (c *Config) DAXLists(s *Service) string {
	d := s.DynamoDB
	if d.DAX.Lists != "" {
		return c.Resolve(d.DAX.Lists)
	}
	beside := c.Resolve("kasoku-dax")
	if store := d.Origin.Embedded(); store != "" {
		if dir, err := filepath.Abs(c.Resolve(store)); err == nil {
			beside = filepath.Join(filepath.Dir(dir), "kasoku-dax")
		}
	}
	return beside
}
