package accel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/pause"
)

const (
	// streamDelay is how long after a write its record may be added to the stream.
	streamDelay = 5 * time.Second
	// maxStreamWait is how much longer a comparison waits for a stream that isn't read.
	maxStreamWait = 20 * time.Second
	// reportDelay is how long after an embedded store has removed an item it may report that.
	reportDelay = 2 * time.Second
)

// verification is the comparison of a hit with the origin. See verifier for the rules.
type verification struct {
	v      *verifier
	table  *table
	entry  *cache.Entry
	fence  cache.Fence
	served int64 // when the request began, on the cache's clock

	began, ended int64 // of the read, on the cache's clock
	units        float64
}

func newVerification(v *verifier, t *table, e *cache.Entry, served int64) *verification {
	return &verification{v: v, table: t, entry: e, fence: e.Fence(), served: served}
}

// isItem reports whether the hit is an item or a missing one.
func (k *verification) isItem() bool { return k.entry.Kind() != kindQuery }

// judge reads the origin and returns the result.
func (k *verification) judge(ctx context.Context, budget *unitBudget) verifyResult {
	set, t := k.v.svc.settings.Load(), k.table
	if set.tag != t.tags.origin {
		return skipped(skipReconfigured)
	}
	if why := t.verifiable(k.entry.Key()); why != "" {
		return skipped(why)
	}
	switch state := set.origin.State(); {
	case state.Breaker == "open":
		return skipped(skipBreaker)
	case state.Queued > 0:
		return skipped(skipQueued)
	case !budget.allows(time.Now()):
		return skipped(skipBudget)
	}
	k.began = k.v.svc.cache.Now()
	body, err := k.read(ctx, set)
	budget.spend(k.units)
	k.ended = k.v.svc.cache.Now()
	if err != nil {
		return skipped(skipOrigin)
	}
	return k.compare(ctx, set, body)
}

var errNotGood = errors.New("the origin's answer is an error or not intact")

// read returns the origin's answer to a strongly consistent read of the same data.
func (k *verification) read(ctx context.Context, set *settings) ([]byte, error) {
	key := k.entry.Key()
	body, ok := k.table.requestOf(key)
	for _, m := range [...][2]string{{"ConsistentRead", `true`}, {"ReturnConsumedCapacity", `"TOTAL"`}} {
		if ok {
			body, ok = wire.SetMember(nil, body, m[0], []byte(m[1]))
		}
	}
	if !ok {
		return nil, fmt.Errorf("no request has the cache key %q", key)
	}
	operation := map[byte]string{keyItem: "GetItem", keyQuery: "Query", keyScan: "Scan"}[key[0]]
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	r := readRequest(sender{}, targetPrefix+operation, body)
	r.Own = true
	resp, err := set.origin.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.Class != origin.Good {
		return nil, errNotGood
	}
	k.units = consumedUnits(resp.Body)
	return resp.Body, nil
}

// compare compares the entry with the origin's answer.
func (k *verification) compare(ctx context.Context, set *settings, body []byte) verifyResult {
	t := k.table
	cached, current := newComparedAnswer(k.isItem(), k.entry.Payload()), newComparedAnswer(k.isItem(), body)
	if !cached.ok || !current.ok {
		return skipped(skipUnreadable)
	}
	if bytes.Equal(cached.form, current.form) {
		return verifyResult{outcome: verifyEqual}
	}
	if t.ttlAttribute != "" && current.item != nil && cached.item == nil {
		if _, expired := timeLeft(current.item, t.ttlAttribute, time.Now()); expired {
			return verifyResult{outcome: verifyEqual} // it is answered as missing
		}
	}
	outcome, why := k.explain(ctx, set, &cached, &current)
	r := verifyResult{outcome: outcome}
	switch outcome {
	case verifySkipped:
		r.skip = why
	case verifyViolation:
		r.violation = k.history(why, &cached, &current)
	}
	return r
}

// explain decides whether a difference was allowed. The second result is the reason why it was not,
// or why that can't be determined.
func (k *verification) explain(ctx context.Context, set *settings, cached, current *comparedAnswer) (verifyOutcome, string) {
	const unseen = "the origin had another value, and no write has invalidated the entry"
	if !k.holds() {
		return verifyExplained, ""
	}
	expired, err := k.expired(ctx, set, cached, current)
	switch {
	case err != nil:
		return verifySkipped, skipOrigin
	case set.cfg.Local && expired && k.ceases(ctx, reportDelay):
		return verifyExplained, ""
	case set.cfg.Local, set.cfg.Verify.Through && !expired:
		return verifyViolation, unseen
	case k.table.feed != nil:
		return k.followed(ctx)
	case expired && k.isItem():
		return verifyExplained, ""
	}
	return verifyUnexplained, ""
}

// holds reports whether the entry is valid, or a look-up would find it.
func (k *verification) holds() bool {
	s := k.v.svc
	if s.cache.Holds(&k.fence, k.served) {
		return true
	}
	e, found := s.space.Peek(k.entry.Key(), s.cache.Now())
	return found == cache.Fresh && e.Fence() == k.fence && bytes.Equal(e.Payload(), k.entry.Payload())
}

// expired reports whether the difference may be that the origin has removed items by their time to
// live.
func (k *verification) expired(ctx context.Context, set *settings, cached, current *comparedAnswer) (bool, error) {
	if k.isItem() && (cached.item == nil || current.item != nil) {
		return false, nil
	}
	attribute := k.table.ttlAttribute
	if attribute == "" {
		ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
		defer cancel()
		var err error
		body := append(wire.AppendQuoted([]byte(`{"TableName":`), []byte(k.table.name)), '}')
		if attribute, err = set.describeTTL(ctx, body); err != nil {
			return false, err
		}
	}
	if attribute == "" || !k.isItem() {
		return attribute != "", nil
	}
	_, expired := timeLeft(cached.item, attribute, time.Now())
	return expired, nil
}

// ceases reports whether the entry ceases to hold within d.
func (k *verification) ceases(ctx context.Context, d time.Duration) bool {
	for end := k.ended + int64(d); ; {
		over := k.v.svc.cache.Now() >= end
		if !k.holds() {
			return true
		}
		if over || !pause.For(ctx, d/20) {
			return false
		}
	}
}

// followed waits until the stream of the table has all writes that the origin's answer may contain.
func (k *verification) followed(ctx context.Context) (verifyOutcome, string) {
	f, c := k.table.feed, k.v.svc.cache
	need := k.ended + int64(streamDelay)
	for {
		through := f.until.Load() - int64(f.maxLag)
		if !k.holds() {
			return verifyExplained, ""
		}
		if through >= need {
			return verifyViolation, fmt.Sprintf("the origin had another value, and no record of the stream has invalidated the entry within %s", f.maxLag+streamDelay)
		}
		if c.Now() > need+int64(f.maxLag+maxStreamWait) {
			return verifySkipped, skipLagging
		}
		if !pause.For(ctx, f.interval()) {
			return verifySkipped, skipStopped
		}
	}
}

// history describes a violation.
func (k *verification) history(why string, cached, current *comparedAnswer) *admin.Violation {
	s, t := k.v.svc, k.table
	now, wall := s.cache.Now(), time.Now()
	at := func(c int64) time.Time { return wall.Add(time.Duration(c - now)).UTC() }
	key := k.entry.Key()
	f := &admin.Violation{
		Service: s.name, Table: t.name, Kind: map[byte]string{keyItem: "item", keyQuery: "query", keyScan: "scan"}[key[0]],
		Key: fmt.Sprintf("%016x", uint64(cache.TagOf(key))), Why: why,
		Cached: cached.digest(), Origin: current.digest(), Differs: cached.differences(current),
		Served: at(k.served), ReadBegan: at(k.began), ReadEnded: at(k.ended), Found: at(now),
		Writes: k.v.writesOf(&k.fence, at),
	}
	if ttl := k.lifetime(); t.ttlAttribute == "" {
		filled := at(now + int64(k.entry.TTL(now)-ttl))
		f.Filled = &filled
	}
	names := []string{"item", "partition, for purges", "table", "origin"}
	switch f.Kind {
	case "query":
		names = []string{"partition", "table", "origin"}
	case "scan":
		names = []string{"writes of the table", "table", "origin"}
	}
	for i, m := range s.cache.Moves(&k.fence) {
		tag := admin.ViolatedTag{Then: m.Then, Now: m.Now, Writers: m.Writers}
		if i < len(names) {
			tag.Name = names[i]
		}
		if m.Now > 0 {
			moved := at(m.At)
			tag.Moved = &moved
		}
		f.Tags = append(f.Tags, tag)
	}
	return f
}

// lifetime returns the time for which the entry is fresh.
func (k *verification) lifetime() time.Duration {
	switch k.entry.Kind() {
	case kindItem:
		return k.table.itemTTL()
	case kindAbsent:
		return k.table.rule.negative
	}
	return k.table.rule.query
}
