package config

// Common is what every service takes, whatever it speaks.
type Common struct {
	// Address that clients connect to, as `host:port`, or `unix:/path` for a Unix
	// socket. No two listeners may have the same one.
	Listen Address `yaml:"listen" required:"clients need an address to connect to"`
	// Encryption of the clients' connections; left out, they are not encrypted.
	TLS *TLS `yaml:"tls"`
	// What one client, or all together, may ask of this listener.
	Limits Limits `yaml:"limits"`
	// Whether fields of requests whose names have an underscore are passed on. CGI, WSGI
	// and PHP give an application one variable for X_Real_IP and X-Real-IP, so that a client
	// could send the one where the other is not let through. They are dropped by default, as
	// if they had not been sent; those that are spelled like fields of proxies always
	// are, and so is Proxy. With type dynamodb, it is only about names that begin with X-Amz-.
	UnderscoresInHeaders bool `yaml:"underscores_in_headers" default:"false"`
	// Repeating requests that failed at the origin, with types http, couchdb and memcached at another
	// one.
	Retry Retry `yaml:"retry"`
	// Leaving an origin alone that fails.
	Breaker Breaker `yaml:"breaker"`
	// How many requests may be under way at the origin, found by measuring. Type dynamodb
	// only: those of types http, couchdb and memcached that ask for the same thing wait for each other,
	// and others go to an origin at once.
	Concurrency Concurrency `yaml:"concurrency"`
	// Most bytes of cache.memory that this service may take; left out, it may
	// take all that is not set apart for others. It is set apart from cache.memory:
	// a cap keeps a service with much data from pushing out another's, and what it
	// leaves free the others can't use. Takes effect at a restart.
	Memory Size `yaml:"memory" min:"1MiB"`
	// Longest time for one attempt at the origin, from connecting to the last
	// byte. Lower values free a client from a slow origin sooner, and make more
	// writes whose outcome is unknown. Type dynamodb only: the others have a timeout for each
	// step.
	OriginTimeout Duration `yaml:"origin_timeout" default:"5s" min:"1ms"`
}

// TLS is the encryption of a listener. The files are read again on SIGHUP; to
// turn encryption on or off at the same address takes a restart.
type TLS struct {
	// PEM file with the certificate and then the chain up to the root.
	Cert string `yaml:"cert" required:"the clients check it"`
	// PEM file with the certificate's private key.
	Key string `yaml:"key" required:"it proves that the certificate is ours"`
	// PEM file with the authorities whose client certificates are accepted. When
	// given, a client without one is refused.
	ClientCA string `yaml:"client_ca"`

	_ struct{} `yaml:"acme" later:"obtaining certificates by ACME"`
}

// Limits is what one client, or all together, may ask of a listener.
type Limits struct {
	// Most connections at a time; one more is answered with 503 (over TLS: closed)
	// at once. An idle one costs some kilobytes and a file descriptor. Where the process may not
	// have so many files open (RLIMIT_NOFILE), the start lowers it, with a warning; http.md tells
	// to what.
	Connections int `yaml:"connections" default:"16384" min:"1"`
	// Most connections at a time from one client address (in IPv6: one /64); one more is
	// refused as one beyond connections is. Left out, a quarter of connections, but not less
	// than 16; the value of connections turns it off. With proxy_protocol it counts for the
	// address that the proxy names. Behind a load balancer that names none, all connections
	// come from its address, so raise it there.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Most bytes of a request's head; beyond it: 431. Temporary credentials alone
	// take up to 4 KiB.
	HeaderBytes Size `yaml:"header_bytes" default:"32KiB" min:"1KiB" max:"1MiB"`
	// Most bytes of a request's body; beyond it: 413. Left out, it is 16MiB for
	// services of type dynamodb, which hold it in memory while the request is answered
	// and whose origin takes no more, and there is no bound for those of types
	// http, couchdb and memcached, which pass it on as it comes.
	BodyBytes Size `yaml:"body_bytes" min:"1KiB" max:"1TiB"`
	// Longest time for a head to arrive from its first byte; beyond it: 408. Low
	// values shake off clients that dribble, high ones tolerate bad lines.
	HeaderTimeout Duration `yaml:"header_timeout" default:"10s" min:"1ms"`
	// Longest time for a body to arrive; beyond it: 408. With types http, couchdb and memcached it is what may be
	// spent waiting for the body, and each KiB that comes gives a second back.
	BodyTimeout Duration `yaml:"body_timeout" default:"30s" min:"1ms"`
	// Longest time that a client may take nothing of an answer that it does not
	// take at once; beyond it the connection is closed. It is also what may be spent waiting
	// for it to take an answer, of which each KiB taken gives a second back: a client that
	// takes less than that in the long run is not waited for.
	WriteTimeout Duration `yaml:"write_timeout" default:"30s" min:"1ms"`
	// Longest time that a connection stays open without a request; at least half
	// of it is given. It should be longer than the clients' own limit, or they will now and then send into a
	// connection that is just being closed: SDKs keep idle ones for about 90s.
	IdleTimeout Duration `yaml:"idle_timeout" default:"3m" min:"1ms"`
	// Longest time that a connection stays open without a request, in place of a longer
	// idle_timeout, until one was accepted on it: with a signature that was verified, where
	// auth asks for one, else any request that the service has answered. Higher values suit
	// browsers that connect before they need to.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
	// Longest time that a request may take as a whole, retries and waiting
	// included; beyond it the client is told that the service is unavailable. Type dynamodb
	// only: the others have a timeout for each step at the origin.
	RequestTimeout Duration `yaml:"request_timeout" default:"30s" min:"1ms"`
	// Most requests a second from one client address (in IPv6: one /64), with
	// bursts of one second's worth; beyond it: 429, or how the service's protocol
	// says that. 0: no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"0" min:"0"`
}

// PerClient is how many connections one client address may have.
func (l *Limits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// share is given, or the default of connections_per_client where that is 0.
func share(given, connections int) int {
	if given > 0 {
		return given
	}
	return max(connections/4, 16)
}

// Retry says how requests that failed at the origin are repeated.
type Retry struct {
	// Most attempts for one request, the first included; 1 means that nothing is
	// repeated. A write is only repeated when it surely was not executed. origin.md tells
	// when.
	Attempts int `yaml:"attempts" default:"3" min:"1" max:"10"`
	// Retries allowed for each request, on average over all. It keeps retries
	// from multiplying the load on an origin that is already failing: at 0.2 they
	// add a fifth at most.
	Budget float64 `yaml:"budget" default:"0.2" min:"0.001" max:"1"`
	// Retries a second that are allowed however few the requests are, so that the
	// budget does not punish a quiet service.
	BudgetMin float64 `yaml:"budget_min" default:"10" min:"0.001"`
	// Upper bound of the first pause. Each pause is random between 0 and a bound
	// that doubles with every retry. Longer pauses spare the origin and cost latency. Type
	// dynamodb only: the others ask another origin, at once.
	Base Duration `yaml:"base" default:"25ms" min:"1ms"`
	// Where the doubling of the bound ends. Type dynamodb only.
	Cap Duration `yaml:"cap" default:"1s" min:"1ms"`
}

// Breaker says when an origin counts as down: connections to it fail, or several
// different requests get no answer in time. While it is open, requests go to another
// origin. Without another one none is refused that could succeed, but requests are not
// repeated, and don't wait for connections that can't be made.
type Breaker struct {
	// Whether there is one. Without it every request waits for its own connection,
	// up to the timeout, while the origin is down.
	Enabled bool `yaml:"enabled" default:"true"`
	// Share of failures among the attempts within the window that opens it. Lower
	// values react to partial faults, and open at a passing error more often.
	Failures float64 `yaml:"failures" default:"0.5" min:"0.01" max:"1"`
	// Attempts within the window that are needed for a judgement.
	Requests int `yaml:"requests" default:"20" min:"1"`
	// Time over which attempts are counted.
	Window Duration `yaml:"window" default:"10s" min:"1s"`
	// How long it stays open after the last failure before some requests are let
	// through to try, although there is another origin.
	OpenFor Duration `yaml:"open_for" default:"5s" min:"1ms"`
	// Tries in a row that must succeed for it to close. As many connections are made
	// at a time while none can be made; other requests fail at once meanwhile.
	Probes int `yaml:"probes" default:"3" min:"1"`
}

// Concurrency bounds the requests under way at the origin. The bound moves
// between min and max with the latency that is measured: an origin that slows
// down is given less to do, and requests wait here, where waiting is cheap.
type Concurrency struct {
	// Whether there is a bound.
	Enabled bool `yaml:"enabled" default:"true"`
	// The bound never falls below this.
	Min int `yaml:"min" default:"32" min:"1"`
	// The bound never rises above this.
	Max int `yaml:"max" default:"1024" min:"1"`
	// The bound at the start.
	Initial int `yaml:"initial" default:"128" min:"1"`
	// How many requests may wait for their turn, as a multiple of the bound;
	// beyond it the client is told at once that the service is overloaded.
	Queue float64 `yaml:"queue" default:"2" min:"0"`
	// Longest time that a request waits for its turn.
	MaxWait Duration `yaml:"max_wait" default:"1s" min:"1ms"`
}
