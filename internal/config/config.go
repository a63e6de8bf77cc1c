// Package config is the one YAML file that the user writes: its schema with
// defaults, and validation that finds every mistake at once and says where it
// stands and what is allowed there.
//
// The comments of the fields below are the manual: docs/configuration.md is made
// from them, and a field without a comment fails a test. Struct tags carry what
// both the code and the manual need:
//
//	yaml:"name"           the key; ",keyed" a mapping read as an ordered list;
//	                      ",self" the key that is meant where a word stands in
//	                      the place of a mapping;
//	                      ",name" the key of such a mapping's entry; ",inline"
//	                      keys of a struct that stand among those of its parent;
//	                      ",variant=x" the same, where type is x;
//	                      ",self" the key that a word in the place of the struct is taken
//	                      for; ",many" a list, one of its elements alone, or "none"
//	default:"5m"          the value when the key is left out
//	enum:"a|b" min max    what is allowed
//	required:"..."        the key must be there, and why
//	later:"..."           a key of the contract that this version lacks
//	refuse:"..."          a key that people will try, and why it is not taken
package config

//go:generate go run ./gendoc -o ../../docs/configuration.md

import "path/filepath"

// Config is the whole file.
type Config struct {
	// The administrator's listener: metrics, health, reports, purges.
	Admin Admin `yaml:"admin"`
	// The memory that all services share.
	Cache Cache `yaml:"cache"`
	// Where a record of each request goes.
	AccessLog AccessLog `yaml:"access_log"`
	// What Kasoku stands in front of: a mapping from a name of your choice to a
	// service. The name appears in metrics, in the log and in commands: letters,
	// digits, `-` and `_`.
	Services []Service `yaml:"services,keyed" required:"there is nothing to serve without one"`

	dir    string   // of the file: relative paths start here
	hidden redactor // environment variables in values that are secret
}

// Admin is the administrator's listener.
type Admin struct {
	// Address of /metrics, /healthz, /readyz and /api/v1. An address that is not
	// loopback needs a token: what stands behind it can drop the cache and tells
	// the names of tables.
	Listen Address `yaml:"listen" default:"127.0.0.1:9090"`
	// Name of the environment variable that holds the token, which requests to
	// everything but /healthz and /readyz then carry as `Authorization: Bearer`.
	// Without one, every process on this machine may purge.
	TokenEnv string `yaml:"token_env"`
	// File that holds the token, instead of token_env; white space at its end is
	// ignored.
	TokenFile string `yaml:"token_file"`
	// What one client, or all together, may ask of this listener.
	Limits AdminLimits `yaml:"limits"`

	_ struct{} `yaml:"token" refuse:"the file is copied and committed; name an environment variable in token_env or a file in token_file"`

	token string
}

// AdminLimits are the limits of the administrator's listener.
type AdminLimits struct {
	// Most connections at a time; one more is answered with 503 and closed. As many file
	// descriptors are kept free of the services' connections.
	Connections int `yaml:"connections" default:"64" min:"1" max:"4096"`
	// Most connections at a time from one client address (in IPv6: one /64); one more is
	// answered with 503 and closed. Left out, a quarter of connections, but not less than 16;
	// the value of connections turns it off.
	ConnectionsPerClient int `yaml:"connections_per_client" min:"1"`
	// Longest time that a connection stays open without a request until one was accepted on
	// it: with the token, where there is one, else any request. After that it is 2m.
	UnauthenticatedIdle Duration `yaml:"unauthenticated_idle" default:"10s" min:"1ms"`
}

// PerClient is how many connections one client address may have.
func (l *AdminLimits) PerClient() int { return share(l.ConnectionsPerClient, l.Connections) }

// Token is the resolved token, or "" when none is asked for.
func (a *Admin) Token() string { return a.token }

// Cache is the memory that all services share.
type Cache struct {
	// Most bytes that cached entries take together, with what is needed to find
	// them. When it is full, what is used least makes room. Left out, it is 1GiB,
	// or a quarter of the memory that the process may use where that is less. What
	// requests and answers in flight take counts against it: stored entries make
	// room for them, down to a quarter, and from half of it on bodies are not
	// buffered. The process takes up to twice as much and 64MiB, because the Go
	// runtime collects garbage when the heap has doubled; the environment variable
	// GOGC changes that for processor time, and GOMEMLIMIT replaces the limit of
	// the heap, which follows from this setting. Takes effect at a restart.
	Memory Size `yaml:"memory" min:"1MiB"`
	// How many counters tell whether an entry is still current. Things that are
	// written share counters by hash: with too few, a write makes needless misses
	// elsewhere (never a stale answer). 16 bytes each, rounded up to a power of
	// two. Takes effect at a restart.
	Generations int `yaml:"generations" default:"4194304" min:"1024" max:"1073741824"`
	// A directory for bodies that are too large for memory, which are there again after
	// a restart. Services of type http use it. Left out: there is none.
	Disk *Disk `yaml:"disk"`
}

// Disk is a directory in which services keep large bodies. http-cache.md says what
// survives a restart.
type Disk struct {
	// The directory, which is made if it is not there and belongs to one Kasoku at a
	// time: a second one does not start. Each service has a directory of its own in it;
	// those of services that the file no longer has are removed. Takes effect at a
	// restart.
	Path string `yaml:"path" required:"it is where the bodies go"`
	// Most bytes that all files take together. When it is full, what was not read lately
	// makes room. What is on the disk beside them is not looked at: leave some space
	// free. Takes effect at a restart.
	Size Size `yaml:"size" default:"10GiB" min:"16MiB" max:"1024TiB"`
	// Bodies longer than this are kept on disk, others in memory. Smaller values leave
	// more memory to what is asked for often; a hit from disk costs more processor time,
	// and each file takes about 2 KiB of memory for its header fields. Text that
	// compress offers in content codings stays in memory up to 8 MiB. Takes effect at a
	// restart.
	Threshold Size `yaml:"threshold" default:"1MiB" min:"64KiB" max:"64GiB"`
	// Longest body that is kept on disk; left out, an eighth of size. Longer ones are
	// passed on as they come. The max_object of a service bounds bodies in memory: those
	// beyond it go to disk even if threshold is higher. Takes effect at a restart.
	MaxObject Size `yaml:"max_object" min:"64KiB"`
}

// Longest is the longest body that is kept on disk, in bytes.
func (d *Disk) Longest() Size {
	if d.MaxObject > 0 {
		return d.MaxObject
	}
	return d.Size / 8
}

// AccessLog says where a record of each request goes.
type AccessLog struct {
	// Where to: `stdout` or `file` (one JSON object a line), `fluentd` (over the
	// network), or `none`. It never delays a request: what the disk, the reader or
	// the server is too slow for is dropped and counted in
	// kasoku_access_log_dropped_total.
	To string `yaml:"to" default:"none" enum:"fluentd|stdout|file|none"`
	// Path of the file for `to: file`. A file that is renamed is opened anew
	// within a second, and at once on SIGHUP.
	File string `yaml:"file"`
	// Share of the requests that are logged, 0 to 1, chosen evenly and without
	// regard to what they are. Less than 1 saves about a microsecond of processor
	// time for each line not written.
	Sample float64 `yaml:"sample" default:"1" min:"0" max:"1"`
	// Which fields a record has; left out, all of them. The fields are described in
	// observability.md.
	Fields []string `yaml:"fields" enum:"time|request_id|service|operation|table|path|key|status|decision|reason|error|principal|duration_us|origin_us|bytes_in|bytes_out|client|user_agent|tls"`

	// For `to: fluentd`: the servers and how to send to them.
	Fluentd *Fluentd `yaml:"fluentd"`
}

// Service is one listener and what stands behind it.
type Service struct {
	// The name of the service.
	Name string `yaml:",name"`
	// What the service speaks. Each type has its own keys besides those that
	// every service takes.
	Type string `yaml:"type" enum:"dynamodb|http|couchdb|memcached" required:"it says which protocol is spoken"`

	Common    `yaml:",inline"`
	DynamoDB  *DynamoDB  `yaml:",variant=dynamodb"`
	HTTP      *HTTP      `yaml:",variant=http"`
	CouchDB   *CouchDB   `yaml:",variant=couchdb"`
	Memcached *Memcached `yaml:",variant=memcached"`
}

// Resolve makes a path in the file absolute or relative to the working
// directory: the file's relative paths start at the directory that it is in.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir, path)
}

// Service returns the service of that name, or nil.
func (c *Config) Service(name string) *Service {
	for i := range c.Services {
		if c.Services[i].Name == name {
			return &c.Services[i]
		}
	}
	return nil
}
