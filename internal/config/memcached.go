package config

import "crypto/sha256"

// Memcached is a service of type memcached: HTTP answers made of what an application
// keeps in memcached, without asking the application. What is not there, and what can't be
// read in time, comes from a fallback. memcached.md tells the rules.
type Memcached struct {
	// Who keeps the values: a list of addresses, or of mappings with an address and a
	// weight, in the order that the writer's client has them in.
	Servers []MemcachedServer `yaml:"servers" required:"it is where the values are"`
	// How the client that wrote the values spreads them over the servers: its name, or a
	// mapping with the name and its parameters. There is no default, because each client has its
	// own way and with another one most keys are misses. May be left out for one server.
	Distribution *Distribution `yaml:"distribution"`
	// What the writer's client puts before each key, as it is sent to memcached.
	Namespace string `yaml:"namespace"`
	// How bytes that memcached takes in no key (up to the space) and `%` are sent, and
	// hashed: `none` leaves keys as they are, and those with such a byte are misses;
	// `nginx-lower` and `nginx-upper` make %xx of them as nginx did, with small digits
	// until 1.7.3 and in memcached_hash, with capital ones since.
	KeyEscape string `yaml:"key_escape" default:"none" enum:"none|nginx-lower|nginx-upper"`
	// What becomes of keys that are longer than memcached's 250 bytes, namespace included:
	// `miss` takes them for missing; `hash` puts a digest in the place of the key, which only
	// those find who do the same.
	LongKeys string `yaml:"long_keys" default:"miss" enum:"miss|hash"`
	// The client that wrote the values, by which their flags are understood: whether they
	// are compressed, serialised or plain. `raw` takes them as they are, save that gzip,
	// zlib and zstd are known by their first bytes, and `bytes` without that; `cmf` is
	// Cache::Memcached::Fast, `perl` Cache::Memcached, `pecl` PHP's memcache and `php` PHP's
	// memcached. A serialised value is a miss.
	Values string `yaml:"values" default:"raw" enum:"raw|bytes|cmf|perl|pecl|php|pylibmc|python-memcached|pymemcache|dalli|spymemcached"`
	// Which of memcached's protocols is spoken: `meta` has what is left of a value's life and
	// lets processes agree who renews it; `auto` asks each server whether it has it, and takes
	// `text` if not. `binary` is for servers that speak nothing else, which are those with SASL
	// (`-S`).
	Protocol string `yaml:"protocol" default:"auto" enum:"auto|text|meta|binary"`
	// Connections to each server, which all requests share. Left out, one, and more of them
	// where there are many processors.
	Connections int `yaml:"connections" min:"1" max:"64"`
	// Longest time for a connection to a server to come about.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"100ms" min:"1ms"`
	// Longest time for a server to begin an answer; beyond it, it is a miss. Low values pass
	// a slow server by sooner, and give the fallback more to do.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"250ms" min:"1ms"`
	// Longest time for a server's whole answer.
	Timeout Duration `yaml:"timeout" default:"500ms" min:"1ms"`
	// When a server is taken for dead, and its keys for missing without asking it.
	ServerBreaker ServerBreaker `yaml:"server_breaker"`
	// Longest value that is taken from a server, as it is stored; a longer one is a miss, and
	// ends the connection that it comes on.
	MaxValue Size `yaml:"max_value" default:"8MiB" min:"1KiB" max:"1GiB"`
	// Who Kasoku is to the servers; left out, it says nothing of it. It is ASCII
	// authentication (memcached's `-Y`), and with `protocol: binary` SASL's PLAIN (`-S`).
	Auth MemcachedAuth `yaml:"auth"`
	// What servers with `tls: true` are shown and asked for.
	ServerTLS *ServerTLS `yaml:"server_tls"`
	// Whether keys of a server that is down are looked for where the writer's client
	// looks next. Only crc-buckets does (Cache::Memcached without no_rehash). With any
	// other client there is nothing to find, and what would be stored there would be out
	// of date once the server is back.
	Failover bool `yaml:"failover" default:"false"`

	// Who answers what memcached has not, what has no location, and methods other than GET and
	// HEAD: a URL, or a list of URLs or of mappings with a URL and a weight. It is asked for the same
	// path and query. Left out, there is nobody: such requests get 404 or 405.
	Fallback []HTTPOrigin `yaml:"fallback,many"`
	// How fallbacks are chosen and reached.
	Backend Backend `yaml:"backend"`
	Passing `yaml:",inline"`

	// Which paths are answered, with which keys.
	Locations []Location `yaml:"locations" required:"it says which paths are answered with which keys"`
}

// MemcachedServer is one of the servers.
type MemcachedServer struct {
	// Where it is: `host:port`, or `unix:/path` for a Unix socket.
	Address Address `yaml:"address,self" required:"it is where the server is"`
	// Its weight in the writer's client. Few distributions take fractions, some take
	// no weights.
	Weight float64 `yaml:"weight" default:"1"`
	// What stands for it in the writer's client, letter by letter; left out, it is the
	// address as it is written here. Many clients make their ring of this text, so
	// localhost:11211 and 127.0.0.1:11211 are different; with a label a server can
	// move without its keys.
	Label string `yaml:"label"`
	// Whether connections to it are encrypted; see server_tls.
	TLS bool `yaml:"tls" default:"false"`
}

// Distribution is how a client spreads keys over servers. memcached.md tells which client
// has which.
type Distribution struct {
	// The client's way. `cmf-ketama` is Cache::Memcached::Fast and memcached_hash with
	// ketama_points, and with 160 points nginx's `hash ... consistent`; `crc-buckets` is
	// Cache::Memcached, Cache::Memcached::Fast without points and nginx's `hash`;
	// `libmemcached-ketama` is what PHP and pylibmc have with ketama_weighted.
	Name string `yaml:"name,self" enum:"cmf-ketama|cmf-ketama-legacy|crc-buckets|libmemcached-ketama|libmemcached-consistent|libmemcached-ketama-spy|modula|pecl-consistent|pecl-standard|twemproxy-ketama|twemproxy-modula|spymemcached|dalli|crc32-mod|rendezvous-pymemcache|ch3" required:"the other keys are its parameters"`
	// Points on the ring for each unit of weight, for the cmf distributions, which
	// need it: ketama_points.
	Points int `yaml:"points" min:"1"`
	// The hash of keys, by the client's name for it; left out, the client's default.
	Hash string `yaml:"hash"`
	// The hash that made the ring, where it is not that of keys: libmemcached's
	// unweighted rings keep the one that was set when servers were added.
	PointHash string `yaml:"point_hash"`
	// An opening and a closing character, such as "{}": of keys with both, only what
	// stands between them is hashed. For twemproxy's distributions.
	HashTag string `yaml:"hash_tag"`
	// Whether the namespace is hashed together with the key; left out, as the client does
	// when nothing else is asked of it.
	HashNamespace *bool `yaml:"hash_namespace"`
}

// ServerBreaker is when a server is taken for dead.
type ServerBreaker struct {
	// Failures in a row after which it is: connections that are refused or end before they
	// have served, and garbled answers, each once however many requests wait. A server that
	// is silent for too long is at once.
	Failures int `yaml:"failures" default:"3" min:"1"`
	// Longest time between two tries, give or take a tenth, to see whether it is back. The
	// first is made at once, and the pauses begin with a sixteenth of it.
	RetryEvery Duration `yaml:"retry_every" default:"500ms" min:"10ms"`
}

// MemcachedAuth is who Kasoku is to the servers.
type MemcachedAuth struct {
	// Name of a user whom the servers know.
	Username string `yaml:"username"`
	// Name of the environment variable that holds the password.
	PasswordEnv string `yaml:"password_env"`
	// File that holds the password, instead of password_env; white space at its end is
	// ignored. It is read again on SIGHUP.
	PasswordFile string `yaml:"password_file"`

	_ struct{} `yaml:"password" refuse:"the file is copied and committed; name an environment variable in password_env or a file in password_file"`

	password string
}

// Password is the resolved password.
func (a *MemcachedAuth) Password() string { return a.password }

// ServerTLS is the encryption of connections to servers. The files are read again on
// SIGHUP.
type ServerTLS struct {
	// PEM file with the authorities that may vouch for a server; left out, the
	// system's.
	CA string `yaml:"ca"`
	// PEM file with the certificate that servers are shown; left out, none.
	Cert string `yaml:"cert"`
	// PEM file with that certificate's private key.
	Key string `yaml:"key"`
	// The name that servers' certificates must have; left out, the address's host.
	ServerName string `yaml:"server_name"`

	files [sha256.Size]byte // what they hold: others make other settings of the same names
}

// Backend is how fallbacks are chosen and reached. They are called origins in what
// follows.
type Backend struct {
	// How one is chosen where there are several; as of type http.
	Balance string `yaml:"balance" default:"round_robin" enum:"round_robin|least_requests|p2c_ewma|consistent_hash"`
	Reach   `yaml:",inline"`
	// Statuses of answers, such as [502, 503], for which a read is asked of another one. Left
	// out: none.
	RetryStatuses []int `yaml:"retry_statuses" min:"400" max:"599"`
	// The Host field that they get: the `client`'s own, or that of the `origin`'s URL.
	Host string `yaml:"host" default:"client" enum:"client|origin"`
	// Longest time from the last byte of the request to the head of its answer; beyond
	// it the client gets 504.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"60s" min:"1ms"`
	// Longest pause within an answer; beyond it the answer is cut.
	StallTimeout Duration `yaml:"stall_timeout" default:"60s" min:"1ms"`
}

// Location is a path and the key that its answers have.
type Location struct {
	// The path of requests, such as /count; `{name}` stands for a segment of any
	// text, and `{name...}` as the last one for the rest, slashes included. The most
	// definite of the locations that fit is taken.
	Path string `yaml:"path" required:"it says which requests are meant"`
	// The key, without the namespace. Of a request it may have `${arg.NAME}` (an argument of
	// the query), `${path.NAME}` (what stands for {NAME}), `${header.NAME}`,
	// `${cookie.NAME}`, `${path}`, `${query}`, `${uri}` (path and query) and `${host}`;
	// `${arg.page:-1}` stands for 1 where there is no such thing, or nothing in it; `$$` is a
	// dollar. A request that lacks what the key needs, or says it twice, is a miss.
	Key string `yaml:"key" required:"it says which value answers"`
	// What becomes of %xx in what the key takes of a request: `raw` leaves it, as
	// nginx's $arg_name does; `decoded` gives the byte that is meant.
	KeyDecode string `yaml:"key_decode" default:"raw" enum:"raw|decoded"`
	// The Content-Type of answers made of values.
	ContentType string `yaml:"content_type" default:"application/octet-stream"`
	// Further fields of answers made of values: a mapping from names to values.
	Headers []Header `yaml:"headers,keyed"`
	// Whether answers made of values have an ETag, made of their bytes, and
	// If-None-Match is answered.
	ETag bool `yaml:"etag" default:"true"`
	// The Cache-Control of answers made of values, such as max-age=60. Left out, it is no-cache:
	// who keeps an answer asks each time whether it is still right, because an application
	// may change its values at any time. `ttl` is max-age with what is left of the value's life,
	// where the server tells it (the meta protocol), and else no-cache; `none` is no such
	// field.
	CacheControl string `yaml:"cache_control"`
	// How long a value is answered from this process before memcached is asked
	// again. It is as much older than memcached's at most, whatever was written or deleted
	// there. 0s: memcached is always asked.
	NearTTL Duration `yaml:"near_ttl" default:"0s" max:"1d"`
	// Who answers misses of this location; left out, the service's fallback. `none`: nobody, a
	// miss is 404.
	Fallback []HTTPOrigin `yaml:"fallback,many"`
	// Keeping the fallback's answers in memcached; left out, they are not kept.
	Store *MemcachedStore `yaml:"store"`
	// How long it is remembered in this process that the fallback had nothing (404 or 410), so
	// that it is not asked by every request for it. 0s: not at all.
	NegativeTTL Duration `yaml:"negative_ttl" default:"1s" max:"1h"`
	// Whether answers are the same for everybody, whoever asks: the fallback is then asked
	// without Authorization and Cookie. With false, a request with credentials (an
	// Authorization, or a Cookie that the key does not name) is answered from memcached like
	// any other, and at a miss by the fallback alone: that answer is neither shared nor
	// stored.
	Public bool `yaml:"public" default:"false"`
	// Calls of callbacks around answers; left out, the callback is an argument like any
	// other.
	JSONP *JSONP `yaml:"jsonp"`
}

// Header is a field of answers.
type Header struct {
	// The field's name.
	Name string `yaml:",name"`
	// The field's value.
	Value string `yaml:"value,self" required:"it is what the field says"`
}

// MemcachedStore is keeping the fallback's answers: those with status 200 that are the same
// for everybody by their own header lines.
type MemcachedStore struct {
	// How long memcached keeps them, in whole seconds.
	TTL Duration `yaml:"ttl" required:"memcached has to know when they end" min:"1s" max:"30d"`
	// Whether an answer may take the place of a value that somebody else has stored
	// meanwhile: `add` leaves that one, `set` replaces it.
	Mode string `yaml:"mode" default:"add" enum:"add|set"`
	// How much longer than ttl they are kept and answered while one request of all
	// processes renews them, and while the fallback fails, in whole seconds. Needs servers with the
	// meta protocol (1.6 and newer); on others values end with ttl.
	Stale Duration `yaml:"stale" default:"0s"`
	// Longest answer that is stored. memcached's own limit (-I) is 1 MiB with the key and
	// some bytes beside it, unless it was started with another one.
	MaxSize Size `yaml:"max_size" default:"1023KiB" min:"1" max:"1GiB"`
}
