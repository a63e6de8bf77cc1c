// Package config reads the YAML file that the user writes. It holds the schema with its
// defaults, and a validation that reports all mistakes at once, each with its place in the
// file and the values that are allowed there.
//
// The comments of the fields below are the manual: docs/configuration.md is generated from
// them, and a field without a comment fails a test. Struct tags hold the facts that both the
// code and the manual need:
//
//	yaml:"name"           the key, with options after a comma:
//	                      keyed    a mapping that is read as an ordered list
//	                      name     the key of an entry of such a mapping
//	                      inline   a struct whose keys are those of its parent
//	                      variant=x  the same, used only where type is x
//	                      self     the key that is set by a word in place of the struct
//	                      many     a list, a single element of it, or "none"
//	default:"5m"          the value when the key is left out
//	enum:"a|b" min max    the allowed values
//	required:"..."        the key must be set, and why
//	unless:"a.b"          a key that makes this one optional
//	later:"..."           a key of the contract that this version lacks
//	refuse:"..."          a key that users will try, and why it is refused
package config

//go:generate go run ./gendoc -o ../../docs/configuration.md

import (
	"cmp"
	"path/filepath"
)

// Config is the whole file.
type Config struct {
	// Listener for administration: metrics, health, reports, purges.
	Admin Admin `yaml:"admin"`
	// Memory that all services share.
	Cache Cache `yaml:"cache"`
	// Destination of the record of each request.
	AccessLog AccessLog `yaml:"access_log"`
	// Accounts for the capacity units that requests use and save at the origins. Left out: there
	// is none. Adding or removing it takes effect at a restart.
	Ledger *Ledger `yaml:"ledger"`
	// Export of requests as OpenTelemetry spans. Left out: none.
	Tracing *Tracing `yaml:"tracing"`
	// The cluster that this Kasoku is a node of. Left out: it is alone before its origins.
	Cluster *Cluster `yaml:"cluster"`
	// The accelerated services: a mapping from a name of your choice to a service. The name
	// appears in metrics, in the log and in commands: letters, digits, `-` and `_`.
	// A witness in a cluster has none.
	Services []Service `yaml:"services,keyed" required:"there is nothing to serve without one" unless:"cluster.witness"`

	dir    string   // the file's directory, which relative paths start at
	hidden redactor // values of environment variables that are secret
}

// Admin is the listener for administration.
type Admin struct {
	// Address of /metrics, /healthz, /readyz and /api/v1. An address that is not loopback
	// needs a token: the API can drop the cache and shows the names of tables.
	Listen Address `yaml:"listen" default:"127.0.0.1:9090"`
	// Name of the environment variable that holds the token. Requests to everything except
	// /healthz and /readyz then need it as `Authorization: Bearer`. Without a token, every
	// process on this machine may purge.
	TokenEnv string `yaml:"token_env"`
	// File that holds the token, instead of token_env; white space at its end is
	// ignored.
	TokenFile string `yaml:"token_file"`
	// Name of the environment variable that holds a second token. A request with it may do
	// everything that one with the first may, and is also shown the keys of items in
	// /api/v1/keys and `kasoku keys`. Without it they show hashes only.
	KeysTokenEnv string `yaml:"keys_token_env"`
	// File that holds the second token, instead of keys_token_env; white space at its end is
	// ignored.
	KeysTokenFile string `yaml:"keys_token_file"`
	// Limits for this listener, for each client and in total.
	Limits AdminLimits `yaml:"limits"`

	_ struct{} `yaml:"token" refuse:"the file is copied and committed; name an environment variable in token_env or a file in token_file"`

	_ struct{} `yaml:"keys_token" refuse:"the file is copied and committed; name an environment variable in keys_token_env or a file in keys_token_file"`

	token, keysToken string
}

// AdminLimits holds the limits of the listener for administration.
type AdminLimits struct {
	// Maximum number of connections; one more is answered with 503 and closed. The same
	// number of file descriptors is reserved, so that the services' connections can't use
	// them up.
	Connections int `yaml:"connections" default:"64" min:"1" max:"4096"`
	// Maximum number of connections from one client address (in IPv6: one /64); one more is
	// answered with 503 and closed. Left out: a quarter of `connections`, and at least 16.
	// The value of `connections` turns the limit off.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Maximum idle time of a connection before its first accepted request: one with the
	// token, if there is a token, else any request. After that it is 2m.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
}

// PerClient returns the maximum number of connections of one client address.
func (l *AdminLimits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// Token returns the resolved token, or "" if none is required.
func (a *Admin) Token() string { return a.token }

// KeysToken returns the resolved token that also shows keys, or "" if there is none.
func (a *Admin) KeysToken() string { return a.keysToken }

// Cache is the memory that all services share.
type Cache struct {
	// Maximum size of all cached entries, including the index. When the cache is full, the
	// entries with the least use are evicted. Left out: 1GiB, or a quarter of the memory
	// that the process may use if that is less. Requests and answers in flight count against
	// it: they evict stored entries, down to a quarter of the cache, and when they take half
	// of it, bodies are no longer buffered. The process takes up to twice this size plus
	// 64MiB, because the Go runtime collects garbage when the heap has doubled. The
	// environment variable GOGC trades this against processor time, and GOMEMLIMIT replaces
	// the limit of the heap, which is derived from this setting. Takes effect at a restart.
	Memory Size `yaml:"memory" min:"1MiB"`
	// Number of generation counters, which decide whether an entry is still current. Written
	// items share counters by hash: with too few counters, a write causes needless misses of
	// unrelated entries (never a stale answer). 16 bytes each, rounded up to a power of two.
	// Takes effect at a restart.
	Generations int `yaml:"generations" default:"4194304" min:"1024" max:"1073741824"`
	// Directory for bodies that are too large for memory. They survive a restart. Services
	// of type http use it. Left out: there is none.
	Disk *Disk `yaml:"disk"`
}

// Disk is a directory in which services store large bodies. http-reference.md describes which of
// them survive a restart.
type Disk struct {
	// The directory. It is created if it is missing, and used by one Kasoku at a time: a
	// second one does not start. Each service has a subdirectory; the subdirectories of
	// services that the file no longer has are removed. Takes effect at a restart.
	Path string `yaml:"path" required:"it is where the bodies go"`
	// Maximum size of all files. When it is reached, bodies that were not read recently are
	// removed. Other files on the disk are not considered: leave some space free. Takes
	// effect at a restart.
	Size Size `yaml:"size" default:"10GiB" min:"16MiB" max:"1024TiB"`
	// Minimum size of a body on disk; smaller bodies are stored in memory. Smaller values
	// leave more memory to frequent requests. A hit from disk costs more processor time, and
	// each file takes about 2 KiB of memory for its header fields. Text that compress offers
	// in content codings is stored in memory up to 8 MiB. Takes effect at a restart.
	Threshold Size `yaml:"threshold" default:"1MiB" min:"64KiB" max:"64GiB"`
	// Maximum size of a body on disk; longer ones are streamed and not stored. Left out: an
	// eighth of size. The max_object of a service limits bodies in memory: longer ones are
	// stored on disk even if threshold is higher. Takes effect at a restart.
	MaxObject Size `yaml:"max_object" min:"64KiB"`
}

// Longest returns the maximum length of a body on disk, in bytes.
func (d *Disk) Longest() Size {
	return cmp.Or(d.MaxObject, d.Size/8)
}

// AccessLog is the destination of the record of each request.
type AccessLog struct {
	// Destination: `stdout` or `file` (one JSON object per line), `fluentd` (over the
	// network), or `none`. Logging never delays a request: records that the disk, the reader
	// or the server is too slow for are dropped and counted in
	// kasoku_access_log_dropped_total.
	To string `yaml:"to" default:"none" enum:"fluentd|stdout|file|none"`
	// Path of the file for `to: file`. After the file is renamed, a new one is opened within
	// a second, and at once on SIGHUP.
	File string `yaml:"file"`
	// Share of the requests that are logged, 0 to 1, spread evenly over all requests. Each
	// line that is not written saves about a microsecond of processor time.
	Sample float64 `yaml:"sample" default:"1" min:"0" max:"1"`
	// Fields of a record; left out, all of them. observability.md describes them.
	Fields []string `yaml:"fields" enum:"time|request_id|service|operation|table|path|key|status|decision|reason|error|principal|duration_us|origin_us|bytes_in|bytes_out|client|user_agent|tls|node|trace_id"`

	// For `to: fluentd`: the servers and the way of sending to them.
	Fluentd *Fluentd `yaml:"fluentd"`
}

// Service is one listener with its origin.
type Service struct {
	// The name of the service.
	Name string `yaml:",name"`
	// Protocol of the service. Each type has keys of its own besides the common ones.
	Type string `yaml:"type" enum:"dynamodb|http|couchdb|memcached" required:"it names the protocol"`

	Common    `yaml:",inline"`
	DynamoDB  *DynamoDB  `yaml:",variant=dynamodb"`
	HTTP      *HTTP      `yaml:",variant=http"`
	CouchDB   *CouchDB   `yaml:",variant=couchdb"`
	Memcached *Memcached `yaml:",variant=memcached"`
}

// Resolve returns a path of the file, absolute or relative to the working directory. In the
// file, relative paths start at the file's directory.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir, path)
}

// Service returns the service with that name, or nil.
func (c *Config) Service(name string) *Service {
	for i := range c.Services {
		if c.Services[i].Name == name {
			return &c.Services[i]
		}
	}
	return nil
}
