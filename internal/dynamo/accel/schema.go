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

// How long a table's description counts as fresh. While an index is being built
// or a table changes, it is asked for more often; an unknown table is asked for
// again soon.
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
	projected map[string]bool // else: these, keys included
}

// table is what the service has learnt of a table. It is immutable but for
// checked; a changed description makes a new one.
type table struct {
	name         string
	space        []byte // origin and table, as tags name it
	id           uint32 // in cache keys
	incarnation  string // TableId, or what else tells one incarnation from the next
	known        bool   // false: could not be described, so nothing of it is cached
	missing      bool   // the origin says that there is no such table
	active       bool
	hash         attribute
	rng          attribute // name "" without a sort key
	schema       Schema    // hash and rng, for others
	indexes      []*index
	ttlAttribute string // the TTL attribute, if the rules ask for it
	tags         tableTags
	rule         rule
	checked      atomic.Int64 // when it was described or last asked for, on the cache's clock
	// described has the generations of the table's schema tags from before it was
	// described. When they have moved, the table was created, changed or deleted through
	// a service with the same origin, and is to be learnt anew.
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

// projectsIntoKey reports whether a projection goes into a key attribute, of the table
// or of an index, which DynamoDB refuses: keys are scalars.
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

// eachGlobalIndex calls f for each global index.
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

// tables are the tables that a service knows. Readers load the map; learners
// replace it under mu.
type tables struct {
	byName  atomic.Pointer[map[string]*table]
	mu      sync.Mutex // guards what follows; may be held while the cache is told of a change
	nextID  uint32
	ids     map[string]uint32 // a table keeps its id as long as the service has the same origin
	pending map[string]*describeCall
}

// errNoTable is why a table can't be described when it does not exist.
var errNoTable = errors.New("there is no such table at the origin")

// describeCall is a description under way. It is void when the settings have changed
// meanwhile: what was asked before is not kept.
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
	return ts
}

// table returns what is known of a table, learning it first if need be. It
// returns a table with known false when the origin can't tell.
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

// refreshIfStale learns a table that is known anew, behind its users, when that is due.
func (s *Service) refreshIfStale(t *table, now int64) {
	if t.claimRefresh(now) {
		go s.loadTable(context.Background(), t.name)
	}
}

// claimRefresh tells one of those who use a table that it is to be learnt anew. now is on the
// cache's clock.
func (t *table) claimRefresh(now int64) bool {
	checked := t.checked.Load()
	return now-checked > int64(t.freshFor()) && t.checked.CompareAndSwap(checked, now)
}

// peek returns what is known of a table without asking the origin; nil if nothing.
func (s *Service) peek(name []byte) *table {
	t := (*s.tables.byName.Load())[string(name)]
	if t == nil || !s.cache.Current(&t.described) {
		return nil
	}
	return t
}

// isCurrent reports whether t still is what is known of its table.
func (s *Service) isCurrent(t *table) bool { return s.peek([]byte(t.name)) == t }

// loadTable describes a table at the origin, once however many ask.
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

// publish publishes what a lesson brought, then drops what was cached under an
// older description.
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
		l.table.id = ts.newID() // so that no look-up finds what is cached by this description
		return
	}
	if l.table.known {
		if ts.ids[name] == 0 {
			ts.ids[name] = ts.newID()
		}
		l.table.id = ts.ids[name]
	}
	prev := (*ts.byName.Load())[name]
	current := prev != nil && prev.known && s.cache.Current(&prev.described)
	if current && !l.table.known && !l.table.missing {
		// The origin could not tell this time; what is known stays in use.
		return
	}
	if current && prev.sameAs(l.table) {
		// Those who hold prev must be able to see that nothing has changed.
		prev.checked.Store(s.cache.Now())
		l.table = prev
		return
	}
	next := maps.Clone(*ts.byName.Load())
	if len(next) >= maxTables {
		// What is learnt of them next time can't be compared with what was known, so
		// what is cached of them must not be found.
		clear(next)
		clear(ts.ids)
	}
	next[name] = l.table
	ts.byName.Store(&next)
	if prev != nil && prev.known && !prev.sameAs(l.table) {
		s.cache.Apply(cache.Change{Cause: cache.ByTable, Tags: []cache.Tag{l.table.tags.table}})
	}
}

// newID returns an id that no table has had. Caller holds mu.
func (ts *tables) newID() uint32 {
	ts.nextID++
	return ts.nextID
}

// dropTables drops what is known of all tables, and what is cached of them: they are of
// another origin.
func (s *Service) dropTables() {
	ts := s.tables
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.voidPending()
	ts.byName.Store(&map[string]*table{})
	clear(ts.ids)
}

// voidPending lets no description that is under way be kept. Caller holds mu.
func (ts *tables) voidPending() {
	for name, l := range ts.pending {
		l.void = true
		delete(ts.pending, name)
	}
}

// applyRules puts the rules of new settings in force for the tables that are known. Those
// under stricter rules than before get another id, so that what this service has cached
// of them is not found any more; where the TTL attribute counts from now on, the table is
// learnt anew.
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
		case r.stricter(t.rule):
			ts.ids[name] = ts.newID()
		}
		if t.rule.expire || !r.expire {
			next[name] = t.withRule(r, ts.ids[name])
		}
	}
	ts.byName.Store(&next)
}

// stricter tells whether something that was kept under the rule old must not be
// served any more.
func (r rule) stricter(old rule) bool {
	return r.item < old.item || r.query < old.query || r.negative < old.negative || r.expire && !old.expire
}

// withRule is the table with another rule and id.
func (t *table) withRule(r rule, id uint32) *table {
	u := &table{
		name: t.name, space: t.space, id: id, incarnation: t.incarnation, known: t.known, missing: t.missing, active: t.active,
		hash: t.hash, rng: t.rng, schema: t.schema, indexes: t.indexes, ttlAttribute: t.ttlAttribute, tags: t.tags, rule: r,
	}
	if !r.expire {
		u.ttlAttribute = ""
	}
	u.described = t.described
	u.checked.Store(t.checked.Load())
	return u
}

// unknownTable is a table of which nothing is known but its name and rule.
func unknownTable(set *settings, name string) *table {
	return &table{name: name, tags: newTableTags(set.tag, name), space: tableSpace(set.tag, name), rule: set.ruleFor(name)}
}

// sameAs tells whether two descriptions make no difference to what is cached.
func (t *table) sameAs(u *table) bool {
	if u.missing || t.incarnation != u.incarnation || t.active != u.active || t.hash != u.hash || t.rng != u.rng || t.ttlAttribute != u.ttlAttribute || t.rule != u.rule || len(t.indexes) != len(u.indexes) {
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

// description is the part of DescribeTable's answer that matters here.
type description struct {
	Table struct {
		TableID              string  `json:"TableId"`
		CreationDateTime     float64 `json:"CreationDateTime"`
		TableStatus          string
		AttributeDefinitions []struct{ AttributeName, AttributeType string }
		KeySchema            []keyElement
		LocalIndexes         []indexDescription `json:"LocalSecondaryIndexes"`
		GlobalIndexes        []indexDescription `json:"GlobalSecondaryIndexes"`
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
