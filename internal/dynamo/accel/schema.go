package accel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The intervals after which a table's description is stale. It is shorter while a table or
// an index is changing, and for unknown tables.
const (
	schemaFresh    = time.Minute
	schemaChanging = 2 * time.Second
	schemaUnknown  = time.Second
	maxTables      = 20_000
)

// attribute is a key attribute of a table or an index.
type attribute struct {
	name string
	typ  byte // 'S', 'N' or 'B'
}

// index is a secondary index.
type index struct {
	name      string
	rawName   []byte
	global    bool
	active    bool
	hash, rng []attribute
	all       bool            // projects every attribute
	projected map[string]bool // otherwise: these, including keys
}

// table is a table's description. It is immutable except for checked; a changed description
// creates a new one.
type table struct {
	name         string
	space        []byte // origin and table, for tag names
	seed         uint64 // of the hashes of keys in access records
	id           uint32 // for cache keys
	incarnation  string // TableId and creation time, which identify an incarnation of the table
	known        bool   // false: it couldn't be described, so nothing of it is cached
	missing      bool   // the origin has no such table
	active       bool
	hash         attribute
	rng          attribute // its name is "" without a sort key
	schema       Schema    // hash and rng, for other packages
	indexes      []*index
	ttlAttribute string // the TTL attribute, if a rule requires it
	stream       string // the ARN of its stream; "" if it has none
	streamView   string // the StreamViewType of that
	feed         *feed  // nil: its stream is not followed; set before the table is published
	tags         tableTags
	rule         rule
	checked      atomic.Int64 // time of the last description or refresh, by the cache's clock
	// described holds the generations of the table's schema tags before it was described. If
	// they have changed, the table was created, changed or deleted through a service with
	// the same origin, and must be described again.
	described cache.Stamp
}

func (t *table) index(name []byte) *index {
	for _, ix := range t.indexes {
		if string(name) == ix.name {
			return ix
		}
	}
	return nil
}

// projectsIntoKey reports whether a projection selects an element inside a key attribute of
// the table or of an index. DynamoDB rejects this: keys are scalars.
func (t *table) projectsIntoKey(p *expr.Projection) bool {
	if p.LeadsInto(t.hash.name) || p.LeadsInto(t.rng.name) {
		return true
	}
	for _, ix := range t.indexes {
		for _, list := range [...][]attribute{ix.hash, ix.rng} {
			for i := range list {
				if p.LeadsInto(list[i].name) {
					return true
				}
			}
		}
	}
	return false
}

func (t *table) eachGlobalIndex(f func(*index)) {
	for _, ix := range t.indexes {
		if ix.global {
			f(ix)
		}
	}
}

func (t *table) hasGlobalIndex() bool {
	return slices.ContainsFunc(t.indexes, func(ix *index) bool { return ix.global })
}

func (t *table) freshFor() time.Duration {
	switch {
	case !t.known:
		return schemaUnknown
	case !t.active:
		return schemaChanging
	}
	return schemaFresh
}

// tables holds the tables of a service. Readers load the map; publish replaces it under mu.
type tables struct {
	byName  atomic.Pointer[map[string]*table]
	names   atomic.Pointer[map[uint32]string] // of the tables, by their ID; replaced like byName
	mu      sync.Mutex                        // guards the fields below; may be held while the cache is invalidated
	nextID  uint32
	ids     map[string]uint32 // a table keeps its ID while the service has the same origin
	pending map[string]*describeCall
}

// errNoTable is the error for a table that doesn't exist.
var errNoTable = errors.New("there is no such table at the origin")

// describeCall is a description in progress. It becomes void when the settings change in the
// meantime; its result is then discarded.
type describeCall struct {
	settings *settings
	stamp    cache.Stamp
	done     chan struct{}
	table    *table
	void     bool // guarded by tables.mu
}

func newTables() *tables {
	ts := &tables{ids: make(map[string]uint32), pending: make(map[string]*describeCall)}
	ts.byName.Store(&map[string]*table{})
	ts.names.Store(&map[uint32]string{})
	return ts
}

// table returns a table's description. It fetches the description if necessary. If the
// origin can't describe the table, the result's known is false.
func (s *Service) table(ctx context.Context, name []byte) *table {
	t := s.peek(name)
	if t == nil {
		return s.loadTable(ctx, string(name))
	}
	if t.claimRefresh(s.cache.Now()) {
		if !t.known {
			return s.loadTable(ctx, t.name)
		}
		go s.loadTable(context.Background(), t.name)
	}
	return t
}

// refreshIfStale starts to describe a table again in the background if it is stale.
func (s *Service) refreshIfStale(t *table, now int64) {
	if t.claimRefresh(now) {
		go s.loadTable(context.Background(), t.name)
	}
}

// claimRefresh reports whether the caller must describe the table again: the description is
// stale and no other caller has claimed the refresh. now is by the cache's clock.
func (t *table) claimRefresh(now int64) bool {
	checked := t.checked.Load()
	return now-checked > int64(t.freshFor()) && t.checked.CompareAndSwap(checked, now)
}

// peek returns the cached description of a table, or nil. It never contacts the origin.
func (s *Service) peek(name []byte) *table {
	t := (*s.tables.byName.Load())[string(name)]
	if t == nil || !s.cache.Current(&t.described) {
		return nil
	}
	return t
}

// isCurrent reports whether t is still the description of its table.
func (s *Service) isCurrent(t *table) bool { return s.peek([]byte(t.name)) == t }

// loadTable fetches a table's description from the origin. Concurrent calls for the same
// table share one request.
func (s *Service) loadTable(ctx context.Context, name string) *table {
	ts := s.tables
	ts.mu.Lock()
	l := ts.pending[name]
	if l == nil || !s.cache.Current(&l.stamp) {
		set := s.settings.Load()
		tags := newTableTags(set.tag, name)
		l = &describeCall{settings: set, stamp: s.cache.Note(tags.schema, tags.schemas), done: make(chan struct{})}
		ts.pending[name] = l
		go s.runDescribe(name, l)
	}
	ts.mu.Unlock()
	select {
	case <-l.done:
		return l.table
	case <-ctx.Done():
		return unknownTable(l.settings, name)
	}
}

func (s *Service) runDescribe(name string, l *describeCall) {
	defer close(l.done)
	defer s.publish(name, l)
	l.table = unknownTable(l.settings, name)
	defer func() {
		if p := recover(); p != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the accelerator", slog.String("table", name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	t, err := s.describe(ctx, l.settings, name)
	if err != nil {
		s.log.Debug("table not described: its requests pass through", slog.String("table", name), slog.Any("error", err))
		l.table.missing = errors.Is(err, errNoTable)
		return
	}
	l.table = t
}

// publish publishes the result of a description, then drops entries that were cached under a
// different description.
func (s *Service) publish(name string, l *describeCall) {
	ts := s.tables
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.pending[name] == l {
		delete(ts.pending, name)
	}
	l.table.described = l.stamp
	l.table.checked.Store(s.cache.Now())
	if l.void || !s.cache.Current(&l.stamp) {
		l.table.id = ts.newID() // so that entries cached under this description are never found
		return
	}
	if l.table.known {
		if ts.ids[name] == 0 {
			ts.ids[name] = ts.newID()
			names := maps.Clone(*ts.names.Load())
			names[ts.ids[name]] = name
			ts.names.Store(&names)
		}
		l.table.id = ts.ids[name]
	}
	prev := (*ts.byName.Load())[name]
	current := prev != nil && prev.known && s.cache.Current(&prev.described)
	if current && !l.table.known && !l.table.missing {
		// The origin couldn't describe it this time; keep the previous description.
		return
	}
	if current && prev.sameAs(l.table) && prev.feed == s.feeds.attach(prev) {
		// Users of prev must be able to see that nothing has changed.
		prev.checked.Store(s.cache.Now())
		l.table = prev
		return
	}
	next := maps.Clone(*ts.byName.Load())
	if len(next) >= maxTables {
		// Later descriptions can't be compared with the removed ones, so entries of these
		// tables must never be found again.
		clear(next)
		clear(ts.ids)
		ts.names.Store(&map[uint32]string{})
	}
	l.table.feed = s.feeds.attach(l.table)
	next[name] = l.table
	ts.byName.Store(&next)
	if prev != nil && prev.known && !prev.sameAs(l.table) {
		s.cache.Apply(cache.Change{Cause: cache.ByTable, Tags: []cache.Tag{l.table.tags.table}})
		s.invalidated(name, cache.ByTable, 1)
	}
}

// newID returns an ID that no table has had. mu must be held.
func (ts *tables) newID() uint32 {
	ts.nextID++
	return ts.nextID
}

// dropTables drops the descriptions and entries of all tables after a change of the origin.
func (s *Service) dropTables() {
	ts := s.tables
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.voidPending()
	ts.byName.Store(&map[string]*table{})
	clear(ts.ids)
	s.feeds.removeAll()
}

// voidPending discards the results of descriptions in progress. mu must be held.
func (ts *tables) voidPending() {
	for name, l := range ts.pending {
		l.void = true
		delete(ts.pending, name)
	}
}

// applyRules applies the rules of new settings to the known tables. A table under stricter
// rules than before gets a new ID, so that its cached entries aren't found any more. If the
// TTL attribute becomes relevant, the table is described again.
func (s *Service) applyRules(set *settings) {
	ts := s.tables
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.voidPending()
	next := make(map[string]*table)
	for name, t := range *ts.byName.Load() {
		r := set.ruleFor(name)
		switch {
		case !t.known:
			continue
		case r == t.rule:
			next[name] = t
			continue
		case r.stricter(t.rule, t.feed != nil):
			ts.ids[name] = ts.newID()
		}
		if t.rule.expire || !r.expire {
			u := t.withRule(r, ts.ids[name])
			u.feed = s.feeds.attach(u)
			next[name] = u
		}
	}
	ts.byName.Store(&next)
}

// stricter reports whether an entry cached under the rule old might have to be hidden. followed
// reports whether the table's stream was followed.
func (r rule) stricter(old rule, followed bool) bool {
	return r.item < old.item || r.query < old.query || r.negative < old.negative || r.expire && !old.expire ||
		followed && (r.followed < old.followed || r.streams == StreamsOff)
}

// withRule returns the table with another rule and ID.
func (t *table) withRule(r rule, id uint32) *table {
	u := &table{
		name: t.name, space: t.space, seed: t.seed, id: id, incarnation: t.incarnation, known: t.known, missing: t.missing, active: t.active,
		hash: t.hash, rng: t.rng, schema: t.schema, indexes: t.indexes, ttlAttribute: t.ttlAttribute, stream: t.stream, streamView: t.streamView, tags: t.tags, rule: r,
	}
	if !r.expire {
		u.ttlAttribute = ""
	}
	u.described = t.described
	u.checked.Store(t.checked.Load())
	return u
}

// unknownTable returns a table with only its name and rule.
func unknownTable(set *settings, name string) *table {
	return &table{name: name, tags: newTableTags(set.tag, name), space: tableSpace(set.tag, name), seed: keySeed(name), rule: set.ruleFor(name)}
}

// sameAs reports whether two descriptions are equivalent for the cache.
func (t *table) sameAs(u *table) bool {
	if u.missing || t.incarnation != u.incarnation || t.active != u.active || t.hash != u.hash || t.rng != u.rng || t.ttlAttribute != u.ttlAttribute || t.rule != u.rule ||
		t.stream != u.stream || t.streamView != u.streamView || len(t.indexes) != len(u.indexes) {
		return false
	}
	for i, a := range t.indexes {
		b := u.indexes[i]
		if a.name != b.name || a.global != b.global || a.active != b.active || a.all != b.all ||
			!slices.Equal(a.hash, b.hash) || !slices.Equal(a.rng, b.rng) || !maps.Equal(a.projected, b.projected) {
			return false
		}
	}
	return true
}

// description is the relevant part of a DescribeTable response.
type description struct {
	Table struct {
		TableID              string  `json:"TableId"`
		CreationDateTime     float64 `json:"CreationDateTime"`
		TableStatus          string
		AttributeDefinitions []struct{ AttributeName, AttributeType string }
		KeySchema            []keyElement
		LocalIndexes         []indexDescription `json:"LocalSecondaryIndexes"`
		GlobalIndexes        []indexDescription `json:"GlobalSecondaryIndexes"`
		LatestStreamArn      string
		StreamSpecification  struct {
			StreamEnabled  bool
			StreamViewType string
		}
	}
}

type keyElement struct{ AttributeName, KeyType string }

type indexDescription struct {
	IndexName   string
	IndexStatus string
	KeySchema   []keyElement
	Projection  struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
}

func (s *Service) describe(ctx context.Context, set *settings, name string) (*table, error) {
	quoted := wire.AppendQuoted(nil, []byte(name))
	body := append(append([]byte(`{"TableName":`), quoted...), '}')
	raw, err := set.readOrigin(ctx, "DescribeTable", body)
	if err != nil {
		return nil, err
	}
	var d description
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("reading the description of table %s: %w", name, err)
	}
	t := unknownTable(set, name)
	if err := t.fill(&d); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	if t.rule.expire {
		if t.ttlAttribute, err = set.describeTTL(ctx, body); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (s *settings) describeTTL(ctx context.Context, body []byte) (string, error) {
	raw, err := s.readOrigin(ctx, "DescribeTimeToLive", body)
	if err != nil {
		return "", err
	}
	var d struct {
		TimeToLiveDescription struct{ TimeToLiveStatus, AttributeName string }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", fmt.Errorf("reading the time to live of a table: %w", err)
	}
	if st := d.TimeToLiveDescription.TimeToLiveStatus; st == "ENABLED" || st == "ENABLING" {
		return d.TimeToLiveDescription.AttributeName, nil
	}
	return "", nil
}

func (t *table) fill(d *description) error {
	types := make(map[string]byte, len(d.Table.AttributeDefinitions))
	for _, a := range d.Table.AttributeDefinitions {
		if len(a.AttributeType) == 1 {
			types[a.AttributeName] = a.AttributeType[0]
		}
	}
	hash, rng, err := keys(d.Table.KeySchema, types)
	if err != nil {
		return err
	}
	if len(hash) != 1 || len(rng) > 1 {
		return fmt.Errorf("a key of %d and %d attributes", len(hash), len(rng))
	}
	t.hash = hash[0]
	if len(rng) == 1 {
		t.rng = rng[0]
	}
	t.schema = Schema{KeyAttribute{t.hash.name, t.hash.typ}, KeyAttribute{t.rng.name, t.rng.typ}}
	t.incarnation = fmt.Sprintf("%s %f", d.Table.TableID, d.Table.CreationDateTime)
	t.active = d.Table.TableStatus == "ACTIVE"
	if stream := &d.Table.StreamSpecification; stream.StreamEnabled && d.Table.LatestStreamArn != "" {
		t.stream, t.streamView = d.Table.LatestStreamArn, stream.StreamViewType
	}
	for _, global := range []bool{false, true} {
		list := d.Table.LocalIndexes
		if global {
			list = d.Table.GlobalIndexes
		}
		for i := range list {
			ix, err := newIndex(&list[i], global, types, t)
			if err != nil {
				return err
			}
			t.active = t.active && ix.active
			t.indexes = append(t.indexes, ix)
		}
	}
	t.known = true
	return nil
}

func newIndex(d *indexDescription, global bool, types map[string]byte, t *table) (*index, error) {
	hash, rng, err := keys(d.KeySchema, types)
	if err != nil || len(hash) == 0 {
		return nil, fmt.Errorf("index %s: its key is not understood (%w)", d.IndexName, err)
	}
	ix := &index{
		name: d.IndexName, rawName: []byte(d.IndexName), global: global, hash: hash, rng: rng,
		active: !global || d.IndexStatus == "ACTIVE", all: d.Projection.ProjectionType == "ALL",
		projected: make(map[string]bool),
	}
	for _, a := range slices.Concat(hash, rng, []attribute{t.hash, t.rng}) {
		ix.projected[a.name] = true
	}
	for _, name := range d.Projection.NonKeyAttributes {
		ix.projected[name] = true
	}
	return ix, nil
}

func keys(schema []keyElement, types map[string]byte) (hash, rng []attribute, err error) {
	for _, e := range schema {
		typ := types[e.AttributeName]
		if !bytes.ContainsRune([]byte("SNB"), rune(typ)) {
			return nil, nil, fmt.Errorf("key attribute %s has no type that is known", e.AttributeName)
		}
		a := attribute{e.AttributeName, typ}
		if e.KeyType == "HASH" {
			hash = append(hash, a)
		} else {
			rng = append(rng, a)
		}
	}
	return hash, rng, nil
}
