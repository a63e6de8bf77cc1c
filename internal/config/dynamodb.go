package config

import "time"

// DynamoDB is a service of type dynamodb: the AWS JSON protocol for DynamoDB or a compatible
// store.
type DynamoDB struct {
	// URL of the store, for example https://dynamodb.eu-west-1.amazonaws.com or
	// http://127.0.0.1:8001. Kasoku signs its requests with credentials from the AWS SDK's
	// default chain: environment, shared files, container or instance role. Or
	// `embedded:DIR`, for example embedded:./data: the store inside Kasoku, which stores its
	// tables in that directory for this service alone. Or `embedded:memory`: the same store
	// with nothing on disk, whose tables last as long as the process. (A directory of that
	// name is embedded:./memory.)
	Origin Origin `yaml:"origin" required:"there is nothing to accelerate without one"`
	// AWS region, for the signatures of both sides. Left out: the region in an origin of the
	// form https://dynamodb.REGION.amazonaws.com; us-east-1 for an embedded store.
	Region string `yaml:"region"`
	// For an embedded store: whether a write is answered only when it is on disk. Concurrent
	// writes share one sync. With `false` a write is answered once it is handed to the
	// operating system: a crash of Kasoku loses the writes of its last instant at most, a
	// crash of the machine those of some hundredths of a second.
	Sync bool `yaml:"sync" default:"true"`
	// For an embedded store: number of shards of a new DynamoDB stream. Each has the records of
	// some partitions. With one, a consumer gets all records in the order of the writes.
	StreamShards int `yaml:"stream_shards" default:"1" min:"1" max:"64"`
	// For an embedded store: how long a shard of a stream is open. It is then closed and followed
	// by another, as in DynamoDB, or by two while a stream that began with several shards has not
	// twice as many. A short time shows whether consumers handle that.
	StreamShardLife Duration `yaml:"stream_shard_life" default:"4h" min:"1s" max:"24h"`
	// For an embedded store: whether all clients have the same tables, `shared`, or those of each
	// access key and region are kept apart, `key`, as in DynamoDB Local without -sharedDb. With
	// `key` nothing is cached, a signature selects the tables but is not verified, and `auth.mode`
	// must be none. embedded.md#namespaces has the rest.
	Namespaces string `yaml:"namespaces" default:"shared" enum:"shared|key"`
	// Authentication and permissions of clients.
	Auth Auth `yaml:"auth"`

	// How long an item that was read or written is served from memory. Writes through Kasoku
	// are seen at once in any case; the TTL bounds how long a write past Kasoku is unseen.
	// 0s: items are not cached. Left out: 5m, and 24h for tables whose stream is followed, because
	// that shows writes past Kasoku.
	ItemTTL *Duration `yaml:"item_ttl"`
	// The same for the results of Query and Scan. A write through Kasoku drops the results
	// that it may have changed. 0s: they are not cached.
	QueryTTL Duration `yaml:"query_ttl" default:"5m"`
	// The same for missing items. 0s: they are not cached, and every request for a missing
	// item is sent to the origin.
	NegativeTTL Duration `yaml:"negative_ttl" default:"1m"`
	// How long after a write its item is filled by strongly consistent reads, which cost
	// twice as much, so that a lagging replica can't put an old item back: the maximum lag
	// of the origin's replicas. The highest value of all services is used for all; takes
	// effect at a restart.
	Settle Duration `yaml:"settle" default:"5s"`
	// How long nothing is cached that may be affected by a write with an unknown outcome (a
	// timeout, a lost connection): the maximum time after which the origin may still execute
	// the write. The highest value of all services is used for all; takes effect at a
	// restart.
	Quarantine Duration `yaml:"quarantine" default:"30s"`
	// Refresh entries in use shortly before they expire, so that no client waits for the
	// origin: the last share of the TTL in which a hit starts a refresh, 0 to 0.9; `true` is
	// 0.1, `false` is 0. A larger share hides slower origins and causes more reads there.
	RefreshAhead RefreshAhead `yaml:"refresh_ahead" default:"true"`
	// Tables with items that have a time to live.
	ExpireItems ExpireItems `yaml:"expire_items"`
	// Whether the service also answers bbpd's routes: operations by path, with items as
	// plain JSON on four of them. bbpd.md lists them.
	PlainJSON bool `yaml:"plain_json" default:"false"`
	// Type of an array of only numbers, or of only strings, in a plain item: `sets` as in
	// bbpd, which drops repeated elements and their order, or `lists`, which keeps both.
	Arrays string `yaml:"arrays" default:"sets" enum:"sets|lists"`
	// JSONP callbacks around answers of these routes to GET and HEAD: scripts of any site
	// can then read the names of the tables. Left out: there are none.
	JSONP *JSONP `yaml:"jsonp"`
	// Listener for applications that use a DAX client. Left out: there is none.
	DAX *DAX `yaml:"dax"`
	// Exceptions for tables: a mapping from a table's name, in which `*` matches any text
	// and `?` one letter, to its settings. Only the first matching pattern in the file is
	// used.
	Tables []Table `yaml:"tables,keyed"`

	// Whether the DynamoDB streams of tables are followed, so that writes past Kasoku are seen
	// within about a second: `off`, `auto` (those of tables whose stream has images, which are
	// NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES) or `on` (any stream; with KEYS_ONLY a record
	// drops all cached queries of all global indexes). With `auto`, a table whose stream can't be
	// read at first, for example for lack of permissions, is served from memory as with `off`
	// until that succeeds. A table is followed from its first use until it has not been used for
	// an hour. Not for an embedded store, since no write passes it. `true` is `on`, `false` is
	// `off`.
	Streams StreamMode `yaml:"streams" default:"auto"`
	// How old an answer from memory may be if its stream is followed. If a stream was not read
	// to its end for longer than that, nothing of its table is served from memory. Each shard of
	// a stream is read four times in this time, but at most five times per second.
	StreamsMaxLag Duration `yaml:"streams_max_lag" default:"1s" min:"500ms" max:"1m"`
	// Whether a table without a stream is given one, with NEW_AND_OLD_IMAGES, if `streams` is
	// `on`. Kasoku's credentials must allow dynamodb:UpdateTable.
	StreamsEnable bool `yaml:"streams_enable" default:"false"`

	// Comparison of some cached answers with the origin, see observability.md. Left out: there is
	// none, except on request.
	Verify *Verify `yaml:"verify"`
}

// The lifetimes of items without item_ttl.
const (
	UsualItemTTL    = 5 * time.Minute
	FollowedItemTTL = 24 * time.Hour // of tables whose stream is followed
)

// Auth holds the authentication and permissions of a service's clients.
type Auth struct {
	// `sigv4`: requests need a signature made with one of the keys below. `none`: every
	// client has all permissions of Kasoku's own credentials, so it is refused unless the
	// listener is on loopback or requires client certificates.
	Mode string `yaml:"mode" default:"sigv4" enum:"sigv4|none"`
	// Allows `mode: none` on a listener that is reachable from other machines.
	Insecure bool `yaml:"insecure" default:"false"`
	// Access keys of the clients. They belong to Kasoku and need not exist in AWS.
	Keys []Key `yaml:"keys"`
}

// Key is a client's access key.
type Key struct {
	// The access key's id, as in the client's AWS_ACCESS_KEY_ID.
	ID string `yaml:"id" required:"the client's signature names it"`
	// Name of the environment variable that holds the secret.
	SecretEnv string `yaml:"secret_env"`
	// File that holds the secret, instead of secret_env; white space at its end is ignored.
	// It is read again on SIGHUP.
	SecretFile string `yaml:"secret_file"`
	// Tables that the key has access to; `*` matches any text and `?` one letter.
	Tables []string `yaml:"tables" default:"*"`
	// Permissions of the key: `read`, `write`, and `admin` for operations on tables.
	Allow []string `yaml:"allow" default:"read,write" enum:"read|write|admin"`

	_ struct{} `yaml:"secret" refuse:"the file is copied and committed; name an environment variable in secret_env or a file in secret_file"`

	secret string
}

// Secret returns the resolved secret.
func (k *Key) Secret() string { return k.secret }

// ExpireItems names the tables with expired items that are not served.
type ExpireItems struct {
	// Patterns of the tables whose expired items are answered as missing at once. DynamoDB
	// itself may take days to delete an expired item, and returns it until then.
	Tables []string `yaml:"tables"`
}

// Table holds the settings that differ for some tables.
type Table struct {
	// Pattern of the tables' names.
	Pattern string `yaml:",name"`
	// Instead of the service's item_ttl.
	ItemTTL *Duration `yaml:"item_ttl"`
	// Instead of the service's query_ttl.
	QueryTTL *Duration `yaml:"query_ttl"`
	// Instead of the service's negative_ttl.
	NegativeTTL *Duration `yaml:"negative_ttl"`
	// Whether these tables are cached. With `false` their requests are forwarded; signatures
	// and permissions are checked all the same.
	Cache bool `yaml:"cache" default:"true"`
	// Instead of the service's arrays.
	Arrays string `yaml:"arrays" enum:"sets|lists"`
	// Instead of the service's streams.
	Streams *StreamMode `yaml:"streams"`
	// Instead of the service's streams_max_lag.
	StreamsMaxLag *Duration `yaml:"streams_max_lag" min:"500ms" max:"1m"`
	// Instead of the service's streams_enable.
	StreamsEnable *bool `yaml:"streams_enable"`
}
