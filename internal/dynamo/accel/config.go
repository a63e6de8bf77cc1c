package accel

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/origin"
)

// Config is what a dynamodb service needs. Zero durations mean what they say: an
// ItemTTL of 0 caches no items.
type Config struct {
	// Name is the service's name in metrics, logs and the admin API.
	Name string
	// Region is signed for towards the origin and expected of clients.
	Region string
	// Origin is the DynamoDB endpoint. Prepare, Classify and Metrics are set here.
	Origin origin.Config
	// Credentials sign towards the origin.
	Credentials aws.CredentialsProvider
	// AllowsAnonymous lets everybody in (auth mode none). Else only who signs with one of Keys.
	Open bool
	Keys []Key
	// ItemTTL, QueryTTL and NegativeTTL are how long items, query results and the
	// absence of an item are kept when nothing invalidates them.
	ItemTTL, QueryTTL, NegativeTTL time.Duration
	// RefreshAhead is the last part of an entry's life, as a share of it, in which
	// hits start a refresh. 0 for none.
	RefreshAhead float64
	// Tables are exceptions for tables by pattern; the first match counts.
	Tables []TableRule
	// ExpireItems are patterns of tables whose items are not served once the time
	// in their TTL attribute has passed.
	ExpireItems []string

	// Connect makes the way to the origin, anew for every configuration; nil is
	// origin.New, to Origin.URL over the network. A store in this process takes
	// its place. Its answers are classified as Classify of the argument says.
	Connect func(origin.Config) (Origin, error)
	// Local says that Connect's origin is a store in this process. Nothing could be
	// gained by leaving it alone, so what is asked of it has no deadline.
	Local bool
	// Underscores passes on those of AWS's fields that have an underscore in their names.
	Underscores bool
}

// Origin is asked for what the cache can't answer.
type Origin interface {
	// Do is as origin.Client's: an error is an *origin.Fault.
	Do(ctx context.Context, r *origin.Request) (*origin.Response, error)
	State() origin.State
	Close()
}

// Key is a client's access key and what it may do.
type Key struct {
	ID, Secret string
	Tables     []string // patterns; "*" is every table and what has no table
	Allow      []wire.Access
}

// TableRule is an exception for some tables. Nil fields leave the service's value.
type TableRule struct {
	Pattern                        string
	Cache                          *bool
	ItemTTL, QueryTTL, NegativeTTL *time.Duration
}

// rule is what holds for one table.
type rule struct {
	item, query, negative time.Duration
	expire                bool // hide items past their TTL attribute
}

// settings is a Config made ready. It is immutable; a reload makes a new one.
type settings struct {
	cfg        Config
	tag        cache.Tag       // everything of the origin
	verifier   *sigv4.Verifier // nil: open
	anonymous  *principal      // who may do everything, without a verifier
	principals []*principal    // by index of the verifier's key
	byID       map[string]*principal
	origin     Origin
	search     Origin // for SearchVectors; origin itself unless AWS has another host for that
}

// caches tells whether anything of the table is kept. What is not kept is passed
// on as the client asks for it.
func (r rule) caches() bool { return r.item > 0 || r.query > 0 }

func (s *settings) ruleFor(table string) rule {
	r := rule{item: s.cfg.ItemTTL, query: s.cfg.QueryTTL, negative: s.cfg.NegativeTTL}
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
		break
	}
	for _, p := range s.cfg.ExpireItems {
		r.expire = r.expire || glob.Match(p, table)
	}
	return r
}

func override(d, by *time.Duration) {
	if by != nil {
		*d = *by
	}
}
