package accel

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// Config is the configuration of a dynamodb service. A zero duration disables its feature:
// with an ItemTTL of 0 no items are cached.
type Config struct {
	// Name is the service's name in metrics, logs and the admin API.
	Name string
	// Region is the region of signatures, both to the origin and from clients.
	Region string
	// Origin is the DynamoDB endpoint. New sets its Prepare, Classify and Metrics.
	Origin origin.Config
	// Credentials sign requests to the origin.
	Credentials aws.CredentialsProvider
	// Open admits every client (auth mode none). Otherwise requests must be signed with one
	// of Keys.
	Open bool
	Keys []Key
	// ItemTTL, QueryTTL and NegativeTTL are the lifetimes of items, query results and
	// missing items in the cache.
	ItemTTL, QueryTTL, NegativeTTL time.Duration
	// RefreshAhead is the last fraction of an entry's lifetime in which hits start a
	// refresh. 0 disables it.
	RefreshAhead float64
	// Tables are exceptions for tables by pattern; the first match applies.
	Tables []TableRule
	// Streams is whether the streams of tables are followed. FollowedItemTTL replaces ItemTTL for
	// followed tables; StreamsEnable gives a table a stream if Streams is StreamsOn and it has
	// none. Nothing of a followed table is served from memory unless its stream was read through a
	// time within the last StreamsMaxLag.
	Streams         StreamMode
	StreamsEnable   bool
	StreamsMaxLag   time.Duration
	FollowedItemTTL time.Duration
	// ExpireItems are patterns of tables whose items aren't served after the time in their
	// TTL attribute.
	ExpireItems []string

	// Connect connects to the origin of a configuration. By default it is origin.New, which
	// connects to Origin.URL over the network. A local store replaces it. It must classify
	// responses with Classify of its argument.
	Connect func(origin.Config) (Origin, error)
	// Local reports that Connect returns a store in this process. Requests to it have no
	// deadline.
	Local bool
	// Namespaced reports that the local store has different contents for each access key and
	// region. Nothing is cached: each request is forwarded with its Namespace. Open must be
	// set.
	Namespaced bool
	// Ledger accounts for the capacity that requests consume at the origin; nil for none. It is
	// the same in all configurations of a service.
	Ledger *ledger.Ledger
	// Changes counts changes of the cached answers; nil for none. It is the same in all
	// configurations of a service.
	Changes Changes
	// HotKeys counts requests and throttled requests by key; nil: they are not counted.
	HotKeys *hotkeys.Keys
	// Verify compares hits with the origin.
	Verify VerifyConfig
	// Underscores forwards AWS header fields with an underscore in their names.
	Underscores bool
}

// Origin serves the requests that the cache can't answer.
type Origin interface {
	// Do is like origin.Client.Do: an error is an *origin.Fault.
	Do(ctx context.Context, r *origin.Request) (*origin.Response, error)
	State() origin.State
	Close()
}

// Key is a client's access key and its permissions.
type Key struct {
	ID, Secret string
	Tables     []string // patterns; "*" includes operations without a table
	Allow      []wire.Access
}

// TableRule is an exception for some tables. Nil fields inherit the service's value.
type TableRule struct {
	Pattern                        string
	Cache                          *bool
	ItemTTL, QueryTTL, NegativeTTL *time.Duration
	Streams                        *StreamMode
	StreamsEnable                  *bool
	StreamsMaxLag                  *time.Duration
}

// followsStreams reports whether the stream of any table may be followed.
func (c *Config) followsStreams() bool {
	return c.Streams != StreamsOff ||
		slices.ContainsFunc(c.Tables, func(t TableRule) bool { return t.Streams != nil && *t.Streams != StreamsOff })
}

// rule is the configuration of one table.
type rule struct {
	item, query, negative time.Duration
	expire                bool // hide items after the time in their TTL attribute
	streams               StreamMode
	enable                bool          // give the table a stream
	maxLag                time.Duration // of the stream
	followed              time.Duration // instead of item if the stream is followed
}

// settings is a Config ready for use. It is immutable; a reload creates a new one.
type settings struct {
	cfg        Config
	tag        cache.Tag       // everything of the origin
	verifier   *sigv4.Verifier // nil: signatures aren't required
	anonymous  *principal      // client with all permissions, used without a verifier
	principals []*principal    // by key index of the verifier
	byID       map[string]*principal
	origin     Origin
	search     Origin // for SearchVectors; equals origin unless AWS has a separate host for it
	streams    Origin // for the streams API; equals origin for a local store
}

// caches reports whether anything of the table is cached. If not, requests are forwarded
// unchanged.
func (r rule) caches() bool { return r.item > 0 || r.query > 0 }

// bypasser is an origin for which the cache is bypassed at times. The changes are made within
// Service.Replace.
type bypasser interface{ BypassCache() bool }

func (s *settings) ruleFor(table string) rule {
	if o, ok := s.origin.(bypasser); ok && o.BypassCache() {
		return rule{}
	}
	r := rule{
		item: s.cfg.ItemTTL, query: s.cfg.QueryTTL, negative: s.cfg.NegativeTTL,
		streams: s.cfg.Streams, enable: s.cfg.StreamsEnable, maxLag: s.cfg.StreamsMaxLag, followed: s.cfg.FollowedItemTTL,
	}
	for i := range s.cfg.Tables {
		t := &s.cfg.Tables[i]
		if !glob.Match(t.Pattern, table) {
			continue
		}
		if t.Cache != nil && !*t.Cache {
			return rule{}
		}
		override(&r.item, t.ItemTTL)
		override(&r.query, t.QueryTTL)
		override(&r.negative, t.NegativeTTL)
		override(&r.followed, t.ItemTTL)
		override(&r.streams, t.Streams)
		override(&r.enable, t.StreamsEnable)
		override(&r.maxLag, t.StreamsMaxLag)
		break
	}
	for _, p := range s.cfg.ExpireItems {
		r.expire = r.expire || glob.Match(p, table)
	}
	if r.streams == StreamsOff { // so that the rule does not differ from that of other tables
		r.enable, r.maxLag, r.followed = false, 0, r.item
	}
	return r
}

func override[T any](d, by *T) {
	if by != nil {
		*d = *by
	}
}
