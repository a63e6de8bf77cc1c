package config

// Common holds the keys of every type of service.
type Common struct {
	// Address that clients connect to, as `host:port`, or `unix:/path` for a Unix
	// socket. No two listeners may have the same one.
	Listen Address `yaml:"listen" required:"clients need an address to connect to"`
	// TLS for client connections. Left out: no TLS.
	TLS *TLS `yaml:"tls"`
	// Limits for this listener, for each client and in total.
	Limits Limits `yaml:"limits"`
	// Whether request fields with an underscore in their name are passed on. CGI, WSGI and
	// PHP map X_Real_IP and X-Real-IP to the same variable, so a client could use the one to
	// forge the other. By default they are dropped as if they had not been sent. Spellings
	// of forwarding fields and `Proxy` are always dropped. With type dynamodb, the key
	// applies only to names that begin with X-Amz-.
	UnderscoresInHeaders bool `yaml:"underscores_in_headers" default:"false"`
	// Repeating requests that failed at the origin; with types http, couchdb and memcached,
	// at another origin.
	Retry Retry `yaml:"retry"`
	// Circuit breaker for an origin that fails.
	Breaker Breaker `yaml:"breaker"`
	// Limit on requests in flight to the origin, adapted to the measured latency. Type
	// dynamodb only: with the other types, concurrent requests for the same key share one
	// fetch, and all others are sent at once.
	Concurrency Concurrency `yaml:"concurrency"`
	// Maximum share of cache.memory for this service, in bytes. The share is reserved: a cap
	// keeps a service with much data from evicting the data of others, and the others can't
	// use the part that it leaves free. Left out: everything that is not reserved for other
	// services. Takes effect at a restart.
	Memory Size `yaml:"memory" min:"1MiB"`
	// Timeout for one attempt at the origin, from connecting to the last byte. Lower values
	// free a client from a slow origin sooner, and leave more writes with an unknown
	// outcome. Type dynamodb only: the other types have a timeout for each step.
	OriginTimeout Duration `yaml:"origin_timeout" default:"5s" min:"1ms"`
}

// TLS is the encryption of a listener. The files are read again on SIGHUP. Turning
// encryption on or off at the same address requires a restart. Either cert and key or acme is
// required.
type TLS struct {
	// PEM file with the certificate, followed by its chain up to the root.
	Cert string `yaml:"cert"`
	// PEM file with the certificate's private key.
	Key string `yaml:"key"`
	// PEM file with the authorities for client certificates. When set, a client without a
	// valid certificate is refused.
	ClientCA string `yaml:"client_ca"`
	// A certificate from an authority such as Let's Encrypt, in place of cert and key.
	ACME *ACME `yaml:"acme"`
}

// ACME obtains a listener's certificate from an authority, and renews it when a third of its
// life is left, by the protocol ACME. The authority connects to the domains to verify that
// they lead here: to port 443 for a listener with this key, else to port 80 for any listener
// without TLS. Use means consent to the authority's terms of service. See tls.md.
type ACME struct {
	// Names in the certificate, which has all of them. Names with `*` can't be verified over a
	// connection.
	Domains []string `yaml:"domains,many" required:"a certificate is for names"`
	// Address for messages of the authority. Left out: it gets none.
	Email string `yaml:"email"`
	// URL of the authority's directory.
	Directory string `yaml:"directory" default:"https://acme-v02.api.letsencrypt.org/directory"`
	// PEM file with the authorities for the directory's own certificate; left out: the
	// system's.
	CA string `yaml:"ca"`
	// Folder for the certificate, its key and the key of the account at the authority. It
	// must survive restarts: authorities limit how many certificates they issue for a domain.
	Cache string `yaml:"cache" default:"acme"`
}

// Limits holds the limits of a listener, for each client and in total.
type Limits struct {
	// Maximum number of connections; one more is answered with 503 (over TLS: closed) at
	// once. An idle connection costs a few kilobytes and a file descriptor. If the process
	// may not open that many files (RLIMIT_NOFILE), the start lowers the limit with a
	// warning; see http-reference.md.
	Connections int `yaml:"connections" default:"16384" min:"1"`
	// Maximum number of connections from one client address (in IPv6: one /64); one more is
	// refused like one beyond `connections`. Left out: a quarter of `connections`, and at
	// least 16. The value of `connections` turns the limit off. With proxy_protocol the
	// client address is the one that the proxy sends. Behind a load balancer without it, all
	// connections have the balancer's address, so raise the limit there.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Maximum size of a request's head; beyond it: 431. Temporary credentials alone take up
	// to 4 KiB.
	HeaderBytes Size `yaml:"header_bytes" default:"32KiB" min:"1KiB" max:"1MiB"`
	// Maximum size of a request's body; beyond it: 413. Left out: 16MiB for services of type
	// dynamodb, which hold it in memory while the request is answered and whose origin
	// accepts no more; unlimited for types http, couchdb and memcached, which stream it.
	BodyBytes Size `yaml:"body_bytes" min:"1KiB" max:"1TiB"`
	// Maximum time for a head to arrive, counted from its first byte; beyond it: 408. Low
	// values disconnect clients that send very slowly, high values tolerate bad networks.
	HeaderTimeout Duration `yaml:"header_timeout" default:"10s" min:"1ms"`
	// Maximum time for a body to arrive; beyond it: 408. With types http, couchdb and
	// memcached it is the time that may be spent waiting for the body, and each KiB received
	// adds a second.
	BodyTimeout Duration `yaml:"body_timeout" default:"30s" min:"1ms"`
	// Maximum time that a client may accept no byte of a pending answer; beyond it the
	// connection is closed. It is also the time that may be spent waiting for the client to
	// accept an answer; each KiB accepted adds a second. A client that is slower than that
	// in the long run is disconnected.
	WriteTimeout Duration `yaml:"write_timeout" default:"30s" min:"1ms"`
	// Maximum time that a connection is open without a request; at least half of it is
	// granted. It should be longer than the clients' own limit, or they now and then send a
	// request on a connection that is being closed: SDKs keep idle connections for about
	// 90s.
	IdleTimeout Duration `yaml:"idle_timeout" default:"3m" min:"1ms"`
	// Maximum idle time of a connection before its first accepted request, in place of a
	// longer idle_timeout. A request is accepted when its signature was verified, where auth
	// requires one, else when the service has answered it. Higher values suit browsers,
	// which connect ahead of need.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
	// Maximum time for a request as a whole, including retries and waiting; beyond it the
	// client is answered that the service is unavailable. Type dynamodb only: the other
	// types have a timeout for each step at the origin.
	RequestTimeout Duration `yaml:"request_timeout" default:"30s" min:"1ms"`
	// Maximum number of requests per second from one client address (in IPv6: one /64), with
	// bursts of one second's worth; beyond it: 429, or the equivalent in the service's
	// protocol. 0: no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"0" min:"0"`
}

// PerClient returns the maximum number of connections of one client address.
func (l *Limits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// share returns given, or the default of connections_per_client if given is 0.
func share(given, connections int) int {
	if given > 0 {
		return given
	}
	return max(connections/4, 16)
}

// Retry specifies how requests that failed at the origin are repeated.
type Retry struct {
	// Maximum number of attempts for one request, including the first; 1 turns retries off.
	// A write is repeated only when it certainly was not executed. See origin.md.
	Attempts int `yaml:"attempts" default:"3" min:"1" max:"10"`
	// Retries allowed per request, on average over all requests. The budget keeps retries
	// from multiplying the load on a failing origin: 0.2 adds a fifth at most.
	Budget float64 `yaml:"budget" default:"0.2" min:"0.001" max:"1"`
	// Retries per second that are always allowed, so that the budget does not punish a quiet
	// service.
	BudgetMin float64 `yaml:"budget_min" default:"10" min:"0.001"`
	// Upper bound of the first pause. Each pause is random between 0 and a bound that
	// doubles with every retry. Longer pauses spare the origin and cost latency. Type
	// dynamodb only: with the other types, another origin is tried at once.
	Base Duration `yaml:"base" default:"25ms" min:"1ms"`
	// Maximum of the doubled bound. Type dynamodb only.
	Cap Duration `yaml:"cap" default:"1s" min:"1ms"`
}

// Breaker specifies when an origin counts as down: when connections to it fail, or several
// different requests time out. While the breaker is open, requests are sent to another
// origin. Without another origin, a request that could succeed is not refused, but requests
// are not repeated and don't wait for connections that can't be made.
type Breaker struct {
	// Whether the breaker is used. Without it, every request waits for its own connection,
	// up to the timeout, while the origin is down.
	Enabled bool `yaml:"enabled" default:"true"`
	// Share of failed attempts within the window that opens the breaker. Lower values react
	// to partial faults, and open more often at a passing error.
	Failures float64 `yaml:"failures" default:"0.5" min:"0.01" max:"1"`
	// Minimum number of attempts within the window for a decision.
	Requests int `yaml:"requests" default:"20" min:"1"`
	// Time over which attempts are counted.
	Window Duration `yaml:"window" default:"10s" min:"1s"`
	// Time that the breaker is open after the last failure before some requests are let
	// through as probes, even if there is another origin.
	OpenFor Duration `yaml:"open_for" default:"5s" min:"1ms"`
	// Successful probes in a row that close the breaker. It is also the maximum number of
	// concurrent connection attempts while none succeeds; other requests fail at once
	// meanwhile.
	Probes int `yaml:"probes" default:"3" min:"1"`
}

// Concurrency limits the requests in flight to the origin. The limit moves between min and
// max with the measured latency: an origin that slows down gets fewer requests, and requests
// queue here, where waiting is cheap.
type Concurrency struct {
	// Whether there is a limit.
	Enabled bool `yaml:"enabled" default:"true"`
	// Lower bound of the limit.
	Min int `yaml:"min" default:"32" min:"1"`
	// Upper bound of the limit.
	Max int `yaml:"max" default:"1024" min:"1"`
	// Limit at the start.
	Initial int `yaml:"initial" default:"128" min:"1"`
	// Length of the queue, as a multiple of the limit; beyond it the client is answered at
	// once that the service is overloaded.
	Queue float64 `yaml:"queue" default:"2" min:"0"`
	// Maximum time in the queue.
	MaxWait Duration `yaml:"max_wait" default:"1s" min:"1ms"`
}
