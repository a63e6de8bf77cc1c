package config

import "crypto/sha256"

// Memcached is a service of type memcached: HTTP answers made from the values that an
// application stores in memcached, without a request to the application. Missing values, and
// values that can't be read in time, are fetched from a fallback. memcached.md describes the
// rules.
type Memcached struct {
	// The servers: a list of addresses, or of mappings with an address and a weight, in the
	// order of the writer's client.
	Servers []MemcachedServer `yaml:"servers" required:"it is where the values are"`
	// How the client that wrote the values distributes them over the servers: its name, or a
	// mapping with the name and its parameters. There is no default, because each client has
	// its own method, and with another one most keys are misses. May be left out for one
	// server.
	Distribution *Distribution `yaml:"distribution"`
	// Prefix that the writer's client adds to each key, as it is sent to memcached.
	Namespace string `yaml:"namespace"`
	// Encoding of `%` and of bytes that memcached does not accept in a key (up to the
	// space), both as sent and as hashed: with `none`, keys are unchanged, and keys with
	// such a byte are misses; `nginx-lower` and `nginx-upper` encode them as %xx like nginx,
	// with lower-case digits until 1.7.3 and in memcached_hash, with upper-case ones since.
	KeyEscape string `yaml:"key_escape" default:"none" enum:"none|nginx-lower|nginx-upper"`
	// Handling of keys that are longer than memcached's 250 bytes, namespace included: with
	// `miss` they are misses; `hash` replaces the key by a digest, which is found only by
	// clients that do the same.
	LongKeys string `yaml:"long_keys" default:"miss" enum:"miss|hash"`
	// The client that wrote the values, which defines the meaning of their flags: whether
	// they are compressed, serialised or plain. `raw` uses values as they are, and detects
	// gzip, zlib and zstd by their first bytes; `bytes` is `raw` without the detection;
	// `cmf` is Cache::Memcached::Fast, `perl` Cache::Memcached, `pecl` PHP's memcache and
	// `php` PHP's memcached. A serialised value is a miss.
	Values string `yaml:"values" default:"raw" enum:"raw|bytes|cmf|perl|pecl|php|pylibmc|python-memcached|pymemcache|dalli|spymemcached"`
	// The memcached protocol: `meta` has the remaining lifetime of a value, and lets
	// processes agree on which one renews it; `auto` asks each server whether it supports
	// meta, and uses `text` if not. `binary` is for servers that support nothing else, which
	// are those with SASL (`-S`).
	Protocol string `yaml:"protocol" default:"auto" enum:"auto|text|meta|binary"`
	// Connections to each server, shared by all requests. Left out: one, and more on
	// machines with many processors.
	Connections int `yaml:"connections" min:"1" max:"64"`
	// Timeout for connecting to a server.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"100ms" min:"1ms"`
	// Timeout for the first byte of a server's answer; beyond it the request is a miss. Low
	// values give up on a slow server sooner, and send more requests to the fallback.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"250ms" min:"1ms"`
	// Timeout for a server's whole answer.
	Timeout Duration `yaml:"timeout" default:"500ms" min:"1ms"`
	// When a server counts as down. Its keys are then misses without a request to it.
	ServerBreaker ServerBreaker `yaml:"server_breaker"`
	// Maximum size of a value, as it is stored; a longer one is a miss, and closes its
	// connection.
	MaxValue Size `yaml:"max_value" default:"8MiB" min:"1KiB" max:"1GiB"`
	// Credentials for the servers; left out: none. ASCII authentication (memcached's `-Y`),
	// and with `protocol: binary` SASL PLAIN (`-S`).
	Auth MemcachedAuth `yaml:"auth"`
	// Certificates for servers with `tls: true`.
	ServerTLS *ServerTLS `yaml:"server_tls"`
	// Whether keys of a server that is down are looked up on the server that the writer's
	// client tries next. Only crc-buckets does this (Cache::Memcached without no_rehash).
	// With any other client there is nothing to find, and values stored there would be out
	// of date once the server is back.
	Failover bool `yaml:"failover" default:"false"`

	// Origin for values that memcached does not have, for paths without a location, and for
	// methods other than GET and HEAD: a URL, or a list of URLs or of mappings with a URL
	// and a weight. It gets the same path and query. Left out: such requests are answered
	// with 404 or 405.
	Fallback []HTTPOrigin `yaml:"fallback,many"`
	// Selection of fallbacks, and connections to them.
	Backend Backend `yaml:"backend"`
	Passing `yaml:",inline"`

	// The paths that are answered, with their keys.
	Locations []Location `yaml:"locations" required:"it maps paths to keys"`
}

// MemcachedServer is one of the servers.
type MemcachedServer struct {
	// Address: `host:port`, or `unix:/path` for a Unix socket.
	Address Address `yaml:"address,self" required:"it is where the server is"`
	// Its weight in the writer's client. Few distributions support fractions, and some
	// support no weights.
	Weight float64 `yaml:"weight" default:"1"`
	// Name of the server in the writer's client, letter by letter; left out: the address as
	// it is written here. Many clients build their ring from this text, so localhost:11211
	// and 127.0.0.1:11211 are different; with a label a server can move without its keys.
	Label string `yaml:"label"`
	// Whether connections to it are encrypted; see server_tls.
	TLS bool `yaml:"tls" default:"false"`
}

// Distribution is the method by which a client distributes keys over servers. memcached.md
// lists the clients.
type Distribution struct {
	// Name of the method. `cmf-ketama` is Cache::Memcached::Fast and memcached_hash with
	// ketama_points, and with 160 points nginx's `hash ... consistent`; `crc-buckets` is
	// Cache::Memcached, Cache::Memcached::Fast without points and nginx's `hash`;
	// `libmemcached-ketama` is PHP and pylibmc with ketama_weighted.
	Name string `yaml:"name,self" enum:"cmf-ketama|cmf-ketama-legacy|crc-buckets|libmemcached-ketama|libmemcached-consistent|libmemcached-ketama-spy|modula|pecl-consistent|pecl-standard|twemproxy-ketama|twemproxy-modula|spymemcached|dalli|crc32-mod|rendezvous-pymemcache|ch3" required:"the other keys are its parameters"`
	// Points on the ring for each unit of weight, required by the cmf distributions:
	// ketama_points.
	Points int `yaml:"points" min:"1"`
	// Hash of keys, by the client's name for it; left out: the client's default.
	Hash string `yaml:"hash"`
	// Hash that the ring was built with, if it is not that of keys: libmemcached's
	// unweighted rings keep the hash that was set when servers were added.
	PointHash string `yaml:"point_hash"`
	// An opening and a closing character, for example "{}": of keys with both, only the part
	// between them is hashed. For twemproxy's distributions.
	HashTag string `yaml:"hash_tag"`
	// Whether the namespace is hashed together with the key; left out: the client's default.
	HashNamespace *bool `yaml:"hash_namespace"`
}

// ServerBreaker specifies when a server counts as down.
type ServerBreaker struct {
	// Failures in a row until the server counts as down: refused connections, connections
	// that end before their first answer, and garbled answers, each counted once however
	// many requests wait. A server that does not answer in time counts as down at once.
	Failures int `yaml:"failures" default:"3" min:"1"`
	// Maximum time between two probes of a server that is down, give or take a tenth. The
	// first probe is sent at once, and the pauses begin with a sixteenth of this time.
	RetryEvery Duration `yaml:"retry_every" default:"500ms" min:"10ms"`
}

// MemcachedAuth holds the credentials for the servers.
type MemcachedAuth struct {
	// User name at the servers.
	Username string `yaml:"username"`
	// Name of the environment variable that holds the password.
	PasswordEnv string `yaml:"password_env"`
	// File that holds the password, instead of password_env; white space at its end is
	// ignored. It is read again on SIGHUP.
	PasswordFile string `yaml:"password_file"`

	_ struct{} `yaml:"password" refuse:"the file is copied and committed; name an environment variable in password_env or a file in password_file"`

	password string
}

// Password returns the resolved password.
func (a *MemcachedAuth) Password() string { return a.password }

// ServerTLS is the encryption of connections to servers. The files are read again on
// SIGHUP.
type ServerTLS struct {
	// PEM file with the authorities for the servers' certificates; left out: the system's.
	CA string `yaml:"ca"`
	// PEM file with the client's certificate; left out: none.
	Cert string `yaml:"cert"`
	// PEM file with that certificate's private key.
	Key string `yaml:"key"`
	// Name that servers' certificates must have; left out: the address's host.
	ServerName string `yaml:"server_name"`

	files [sha256.Size]byte // digest of their content: new files make settings with the same names different
}

// Backend specifies the selection of fallbacks and the connections to them. They are called
// origins below.
type Backend struct {
	Reach `yaml:",inline"`
	// Statuses of answers, for example [502, 503], after which a read is repeated at another
	// fallback. Left out: none.
	RetryStatuses []int `yaml:"retry_statuses" min:"400" max:"599"`
	// Host field of requests to them: the `client`'s, or that of the `origin`'s URL.
	Host string `yaml:"host" default:"client" enum:"client|origin"`
	// Timeout from the last byte of the request to the head of its answer; beyond it the
	// client gets 504.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"60s" min:"1ms"`
	// Maximum pause within an answer; beyond it the answer is cut.
	StallTimeout Duration `yaml:"stall_timeout" default:"60s" min:"1ms"`
}

// Location is a path with the key of its answers.
type Location struct {
	// Path of requests, for example /count; `{name}` matches a segment with any text, and
	// `{name...}` at the end matches the rest, slashes included. The most specific of the
	// matching locations is used.
	Path string `yaml:"path" required:"it selects the requests"`
	// The key, without the namespace. It may contain `${arg.NAME}` (an argument of the
	// query), `${path.NAME}` (the text matched by {NAME}), `${header.NAME}`,
	// `${cookie.NAME}`, `${path}`, `${query}`, `${uri}` (path and query) and `${host}`;
	// `${arg.page:-1}` is 1 if the argument is missing or empty; `$$` is a dollar. A request
	// that lacks a part of the key, or has it twice, is a miss.
	Key string `yaml:"key" required:"it selects the value"`
	// Decoding of %xx in the parts that the key takes from a request: `raw` keeps it, as
	// nginx's $arg_name does; `decoded` replaces it by the byte.
	KeyDecode string `yaml:"key_decode" default:"raw" enum:"raw|decoded"`
	// Content-Type of answers made from values.
	ContentType string `yaml:"content_type" default:"application/octet-stream"`
	// Further fields of answers made from values: a mapping from names to values.
	Headers []Header `yaml:"headers,keyed"`
	// Whether answers made from values have an ETag, derived from their bytes, and
	// If-None-Match is answered.
	ETag bool `yaml:"etag" default:"true"`
	// Cache-Control of answers made from values, for example max-age=60. Left out: no-cache,
	// so that caches revalidate an answer each time, because an application may change its
	// values at any time. `ttl` is max-age with the remaining lifetime of the value if the
	// server reports it (the meta protocol), else no-cache; `none` omits the field.
	CacheControl string `yaml:"cache_control"`
	// How long a value is answered from this process before memcached is read again. Answers
	// are older than memcached's by this time at most, whatever was written or deleted
	// there. 0s: memcached is always read.
	NearTTL Duration `yaml:"near_ttl" default:"0s" max:"1d"`
	// Fallback for misses of this location; left out: the service's fallback. `none`: a miss
	// is answered with 404.
	Fallback []HTTPOrigin `yaml:"fallback,many"`
	// Storing the fallback's answers in memcached; left out: they are not stored.
	Store *MemcachedStore `yaml:"store"`
	// How long this process remembers that the fallback had no answer (404 or 410), so that
	// not every request reaches it. 0s: not at all.
	NegativeTTL Duration `yaml:"negative_ttl" default:"1s" max:"1h"`
	// Whether answers are the same for all clients: requests to the fallback then have no
	// Authorization and Cookie. With false, a request with credentials (an Authorization, or
	// a Cookie that the key does not use) is answered from memcached like any other, and on
	// a miss by the fallback alone: that answer is not shared and not stored.
	Public bool `yaml:"public" default:"false"`
	// JSONP callbacks around answers; left out: the callback is an argument like any other.
	JSONP *JSONP `yaml:"jsonp"`
}

// Header is a field of answers.
type Header struct {
	// Name of the field.
	Name string `yaml:",name"`
	// Value of the field.
	Value string `yaml:"value,self" required:"it is the content of the field"`
}

// MemcachedStore specifies how the fallback's answers are stored: those with status 200 that
// are the same for all clients by their own header fields.
type MemcachedStore struct {
	// How long memcached keeps them, in whole seconds.
	TTL Duration `yaml:"ttl" required:"memcached needs a lifetime for them" min:"1s" max:"30d"`
	// Whether an answer may replace a value that another client has stored meanwhile: `add`
	// keeps the other value, `set` replaces it.
	Mode string `yaml:"mode" default:"add" enum:"add|set"`
	// How much longer than ttl values are kept and answered while one request of all
	// processes renews them, and while the fallback fails, in whole seconds. Requires
	// servers with the meta protocol (1.6 and newer); on others values end with ttl.
	Stale Duration `yaml:"stale" default:"0s"`
	// Maximum size of a stored answer. memcached's own limit (-I) is 1 MiB by default,
	// including the key and some overhead.
	MaxSize Size `yaml:"max_size" default:"1023KiB" min:"1" max:"1GiB"`
}
