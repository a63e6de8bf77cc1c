package config

// DynamoDB is a service of type dynamodb: the AWS JSON protocol in front of
// DynamoDB or of anything that speaks it.
type DynamoDB struct {
	// URL of the store, such as https://dynamodb.eu-west-1.amazonaws.com or
	// http://127.0.0.1:8001. Kasoku signs its requests to it with credentials from
	// the AWS SDK's default chain: environment, shared files, container or
	// instance role. Or `embedded:DIR`, such as embedded:./data: the store inside
	// Kasoku, which keeps its tables in that directory for this service alone.
	Origin Origin `yaml:"origin" required:"there is nothing to accelerate without one"`
	// AWS region, for the signatures of both sides. Left out, it is read from an
	// origin of the form https://dynamodb.REGION.amazonaws.com; for an embedded
	// store it is us-east-1.
	Region string `yaml:"region"`
	// Of an embedded store: whether a write is answered only when it is on disk.
	// Writes that arrive together share one sync. With `false` a write is
	// answered when it is on its way to the disk: a crash of Kasoku loses what
	// came in its last instant at most, a crash of the machine some hundredths of
	// a second.
	Sync bool `yaml:"sync" default:"true"`
	// Who may ask what.
	Auth Auth `yaml:"auth"`

	// How long an item that was read or written is served from memory. Writes
	// through Kasoku are seen at once whatever this is; it bounds how long a write
	// that went past Kasoku stays unseen. 0s: items are not cached.
	ItemTTL Duration `yaml:"item_ttl" default:"5m"`
	// The same for the results of Query and Scan. A write through Kasoku drops
	// those that it may have changed. 0s: they are not cached.
	QueryTTL Duration `yaml:"query_ttl" default:"5m"`
	// The same for the fact that an item does not exist. 0s: it is not remembered,
	// and every question for a missing item goes to the origin.
	NegativeTTL Duration `yaml:"negative_ttl" default:"1m"`
	// How long after a write what it touched is filled by strongly consistent
	// reads, which cost twice as much, so that a replica that lags can't put an
	// old item back. The longest lag of the origin's replicas. With several
	// services the longest of theirs holds for all; takes effect at a restart.
	Settle Duration `yaml:"settle" default:"5s"`
	// How long nothing is cached of what a write may have touched whose outcome is
	// unknown (a timeout, a lost connection): the longest time after which the
	// origin may still execute it. With several services the longest of theirs
	// holds for all; takes effect at a restart.
	Quarantine Duration `yaml:"quarantine" default:"30s"`
	// Refresh what is asked for shortly before its time is over, so that no client
	// waits for the origin: the last share of the TTL in which a hit starts a
	// refresh, 0 to 0.9; `true` means 0.1, `false` means 0. More of it
	// hides slower origins and makes more reads there.
	RefreshAhead RefreshAhead `yaml:"refresh_ahead" default:"true"`
	// Tables whose items carry a time to live.
	ExpireItems ExpireItems `yaml:"expire_items"`
	// Whether the service also answers bbpd's routes: operations by path, items as
	// plain JSON on four of them. bbpd.md has them all.
	PlainJSON bool `yaml:"plain_json" default:"false"`
	// What an array of only numbers, or of only strings, in a plain item becomes: `sets`
	// as in bbpd, which drops repeated elements and their order, or `lists`, which keep both.
	Arrays string `yaml:"arrays" default:"sets" enum:"sets|lists"`
	// Calls of callbacks around answers of these routes to GET and HEAD: scripts of any site
	// can then read which tables there are. Left out, there are none.
	JSONP *JSONP `yaml:"jsonp"`
	// A listener for applications that use a client of DAX. Left out, there is none.
	DAX *DAX `yaml:"dax"`
	// Exceptions for tables: a mapping from a table's name, in which `*` stands
	// for any text and `?` for one letter, to what is different there. The first pattern in the file that
	// matches is used, alone.
	Tables []Table `yaml:"tables,keyed"`

	_ struct{} `yaml:"streams" later:"following DynamoDB Streams"`
}

// Auth says who may ask what of a service.
type Auth struct {
	// `sigv4`: requests carry a signature made with one of the keys below. `none`:
	// anybody who reaches the listener may do all that Kasoku's own credentials
	// allow, so it is refused unless the listener is on loopback or asks for
	// client certificates.
	Mode string `yaml:"mode" default:"sigv4" enum:"sigv4|none"`
	// Allows `mode: none` on a listener that others can reach.
	Insecure bool `yaml:"insecure" default:"false"`
	// The clients' keys. They are Kasoku's own and need not exist in AWS.
	Keys []Key `yaml:"keys"`
}

// Key is a client's access key.
type Key struct {
	// The access key's id, as the client has it in AWS_ACCESS_KEY_ID.
	ID string `yaml:"id" required:"the client's signature names it"`
	// Name of the environment variable that holds the secret.
	SecretEnv string `yaml:"secret_env"`
	// File that holds the secret, instead of secret_env; white space at its end is
	// ignored. It is read again on SIGHUP.
	SecretFile string `yaml:"secret_file"`
	// Tables that the key may touch; `*` stands for any text and `?` for one letter.
	Tables []string `yaml:"tables" default:"*"`
	// What the key may do there: `read`, `write`, and `admin` for operations on
	// tables themselves.
	Allow []string `yaml:"allow" default:"read,write" enum:"read|write|admin"`

	_ struct{} `yaml:"secret" refuse:"the file is copied and committed; name an environment variable in secret_env or a file in secret_file"`

	secret string
}

// Secret is the resolved secret.
func (k *Key) Secret() string { return k.secret }

// ExpireItems names the tables whose expired items are not served.
type ExpireItems struct {
	// Patterns of the tables from which an item whose TTL attribute has passed is
	// answered as missing, at once, though DynamoDB may take days to delete it and
	// itself answers it until then.
	Tables []string `yaml:"tables"`
}

// Table is what is different for some tables.
type Table struct {
	// The pattern of the tables' names.
	Pattern string `yaml:",name"`
	// Instead of the service's item_ttl.
	ItemTTL *Duration `yaml:"item_ttl"`
	// Instead of the service's query_ttl.
	QueryTTL *Duration `yaml:"query_ttl"`
	// Instead of the service's negative_ttl.
	NegativeTTL *Duration `yaml:"negative_ttl"`
	// Whether anything of these tables is cached. With `false` their requests are
	// forwarded; signatures and rights are checked all the same.
	Cache bool `yaml:"cache" default:"true"`
	// Instead of the service's arrays.
	Arrays string `yaml:"arrays" enum:"sets|lists"`
}
