package advice

import (
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// tableRules are the rules for tables of services of type dynamodb.
var tableRules = []func(service string, t *Table) *Suggestion{
	shortItemTTL, shortQueryTTL, uselessQueries, shortNegativeTTL, shortLag,
}

const (
	manyExpired = 0.05 // share of the reads
	longer      = 4    // factor of a suggested TTL
	maxTTL      = 24 * time.Hour
)

// unseen describes the effect of a longer TTL on writes that Kasoku does not see.
func unseen(what string, before, after time.Duration) string {
	return fmt.Sprintf("a write past Kasoku to %s is unseen for up to %s instead of %s, unless the table's stream is followed; writes through Kasoku are seen at once as before",
		what, span(after), span(before))
}

// shortItemTTL suggests a longer item_ttl if entries expire more often than writes invalidate them.
func shortItemTTL(service string, t *Table) *Suggestion {
	return shortTTL(service, t, t.Decisions.less(t.Queries), "item_ttl", "items", t.ItemTTL)
}

// shortQueryTTL does the same for results of Query and Scan.
func shortQueryTTL(service string, t *Table) *Suggestion {
	return shortTTL(service, t, t.Queries, "query_ttl", "results of queries", t.QueryTTL)
}

func shortTTL(service string, t *Table, c Counts, key, what string, ttl time.Duration) *Suggestion {
	reads, expired, invalidated := c.reads(), c[telemetry.MissExpired], c[telemetry.MissInvalidated]
	next := min(longer*ttl, maxTTL)
	if reads < minReads || ttl <= 0 || next <= ttl || share(expired, reads) < manyExpired || expired <= invalidated {
		return nil
	}
	hits := share(c.hits(), reads)
	return &Suggestion{
		Rule: "ttl-too-short", Service: service, Table: t.Name,
		Finding: fmt.Sprintf("%s of %d reads found an expired entry, and only %s one that a write had invalidated: %s of %s is short for the rate of writes.",
			percent(share(expired, reads)), reads, percent(share(invalidated, reads)), key, span(ttl)),
		Setting: tableSetting(service, t, key, span(next)),
		Effect:  fmt.Sprintf("a hit ratio of the %s of up to %s instead of %s", what, percent(hits+share(expired, reads)*(1-float64(ttl)/float64(next))), percent(hits)),
		Basis: fmt.Sprintf("an upper bound: of regular reads of a key, one in each TTL finds it expired, so a TTL of %.3g times the length saves %s of these misses",
			float64(next)/float64(ttl), percent(1-float64(ttl)/float64(next))),
		Coherence: unseen(what, ttl, next),
	}
}

// uselessQueries suggests not to store results that are not used again.
func uselessQueries(service string, t *Table) *Suggestion {
	const few = 0.02
	reads := t.Queries.reads()
	hits := share(t.Queries.hits()+t.Queries[telemetry.Coalesced], reads)
	if reads < minReads || t.QueryTTL <= 0 || hits >= few || share(t.Queries[telemetry.MissExpired], reads) >= few {
		return nil
	}
	finding := fmt.Sprintf("Only %s of %d queries and scans were answered from memory: they are hardly ever repeated.", percent(hits), reads)
	if invalidated := share(t.Queries[telemetry.MissInvalidated], reads); invalidated > 0.5 {
		finding = fmt.Sprintf("Only %s of %d queries and scans were answered from memory: writes had invalidated the results of %s before they were repeated.",
			percent(hits), reads, percent(invalidated))
	}
	return &Suggestion{
		Rule: "queries-not-repeated", Service: service, Table: t.Name, Finding: finding,
		Setting: tableSetting(service, t, "query_ttl", "0s"),
		Effect:  fmt.Sprintf("the memory of their results is free for other entries; %s of the queries and scans are no longer hits", percent(hits)),
		Basis:   "the requests that were counted",
	}
}

// shortNegativeTTL suggests to cache missing items for as long as items.
func shortNegativeTTL(service string, t *Table) *Suggestion {
	const many = 0.1
	items := t.Decisions.less(t.Queries)
	reads, negative, expired := items.reads(), items[telemetry.HitNegative], items[telemetry.MissExpired]
	next := min(longer*t.NegativeTTL, t.ItemTTL, maxTTL)
	if reads < minReads || t.NegativeTTL <= 0 || next <= t.NegativeTTL || share(negative, reads) < many || share(expired, reads) < manyExpired {
		return nil
	}
	saved := 1 - float64(t.NegativeTTL)/float64(next)
	return &Suggestion{
		Rule: "negative-ttl-too-short", Service: service, Table: t.Name,
		Finding: fmt.Sprintf("%s of %d reads are answered from memory as a missing item, and %s find an expired entry; missing items expire after %s, others after %s.",
			percent(share(negative, reads)), reads, percent(share(expired, reads)), span(t.NegativeTTL), span(t.ItemTTL)),
		Setting:   tableSetting(service, t, "negative_ttl", span(next)),
		Effect:    fmt.Sprintf("up to %s more of the reads are hits", percent(share(expired, reads)*saved)),
		Basis:     "an upper bound: all expired entries are those of missing items, which are not counted apart",
		Coherence: unseen("an item that is missing", t.NegativeTTL, next),
	}
}

// shortLag suggests a longer streams_max_lag if requests are forwarded because of it.
func shortLag(service string, t *Table) *Suggestion {
	const (
		many   = 0.02
		maxLag = time.Minute
	)
	lagging := t.Decisions[telemetry.BypassLagging]
	all, next := t.Decisions.reads()+lagging, min(2*t.StreamsMaxLag, maxLag)
	if all < minReads || share(lagging, all) < many || next <= t.StreamsMaxLag {
		return nil
	}
	return &Suggestion{
		Rule: "lag-too-short", Service: service, Table: t.Name,
		Finding:   fmt.Sprintf("%s of %d reads were forwarded because the table's stream was not read to its end within %s.", percent(share(lagging, all)), all, span(t.StreamsMaxLag)),
		Setting:   tableSetting(service, t, "streams_max_lag", span(next)),
		Effect:    fmt.Sprintf("up to %s more of the reads are served from memory", percent(share(lagging, all))),
		Basis:     "an upper bound: how long the stream lagged each time is not counted",
		Coherence: fmt.Sprintf("a write past Kasoku is unseen for up to %s instead of %s", span(next), span(t.StreamsMaxLag)),
	}
}

// shortFreshness suggests stale_while_revalidate for a service of type http whose responses often
// expire.
func shortFreshness(s *Service) *Suggestion {
	const (
		many = 0.1
		next = 30 * time.Second
	)
	reads, expired := s.Decisions.reads(), s.Decisions.of(telemetry.MissExpired, telemetry.Revalidated)
	if s.StaleWhileRevalidate > 0 || share(expired, reads) < many {
		return nil
	}
	return &Suggestion{
		Rule: "freshness-too-short", Service: s.Name,
		Finding: fmt.Sprintf("%s of %d reads waited for the origin because the stored response had expired; %s of these were confirmed by the origin unchanged.",
			percent(share(expired, reads)), reads, percent(share(s.Decisions[telemetry.Revalidated], expired))),
		Setting:   serviceSetting(s.Name, "stale_while_revalidate", span(next)),
		Effect:    fmt.Sprintf("up to %s more of the reads do not wait for the origin; it has as many requests as before", percent(share(expired, reads))),
		Basis:     "an upper bound: the time since each expiry is not counted",
		Coherence: fmt.Sprintf("a response may be served for up to %s after its freshness has ended, while it is requested again", span(next)),
	}
}
