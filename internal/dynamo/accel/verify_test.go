package accel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const (
	verifiedItem  = `t {"p":{"S":"a"},"s":{"N":"1"}}`
	verifiedQuery = `Query {"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`
	verifiedScan  = `Scan {"TableName":"t"}`
	globalQuery   = `Query {"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"g1"}}}`
	getVerified   = `GetItem {"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
	otherItem     = `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g1"},"v":{"S":"y"}}}`
)

// verified compares entries that are stored, and returns the progress at the end, with all violations.
func verified(s *script, r admin.VerifyRequest) (last admin.VerifyProgress) {
	s.t.Helper()
	var violations []admin.Violation
	var problems []string
	err := s.svc.Verify(s.t.Context(), &r, func(p admin.VerifyProgress) {
		violations, problems = append(violations, p.Violations...), append(problems, p.Problems...)
		last = p
	})
	if err != nil {
		s.t.Errorf("got %v", err)
	}
	last.Violations, last.Problems = violations, problems
	return last
}

// verifiable returns a script with cached answers of an item, a missing one, a query and a scan.
func verifiable(t *testing.T, config string, change func(*Config)) *script {
	s := newScript(t)
	s.run("config " + config)
	if change != nil {
		change(&s.cfg)
	}
	s.run(`past PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"g1"},"v":{"S":"x"}}}`)
	if strings.Contains(config, "streams=on") {
		s.origin.model.tables["t"].setStream(json.RawMessage(`{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`))
		s.run(getVerified)
		time.Sleep(5 * time.Second) // of the bubble
	}
	for range 2 {
		s.run(getVerified)
		s.run(`GetItem {"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"2"}}}`)
		s.run(verifiedQuery)
		s.run(verifiedScan)
		s.run(globalQuery)
	}
	return s
}

// through lets all writes pass through Kasoku.
func through(c *Config) { c.Verify.Through = true }

// TestVerifyOutcomes compares answers after changes at the origin.
func TestVerifyOutcomes(t *testing.T) {
	const pastPut = "past PutItem " + otherItem
	f := func(name, config string, change func(*Config), act func(s *script), entry, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := verifiable(t, config, change)
				before := s.svc.cache.Stats()
				act(s)
				p := verified(s, admin.VerifyRequest{List: []string{entry}})
				got := "equal"
				switch {
				case p.Absent == 1:
					got = "absent"
				case p.Explained == 1:
					got = "explained"
				case p.Unexplained == 1:
					got = "unexplained"
				case p.VerifyCounts.Violations == 1 && len(p.Violations) == 1:
					got = "violation: " + strings.Join(p.Violations[0].Differs, " ")
				case p.Skipped == 1:
					for why := range p.Skips {
						got = "skipped: " + why
					}
				case p.Equal != 1:
					got = "nothing"
				}
				if got != want {
					t.Errorf("got %s, want %s: %+v", got, want, p)
				}
				if got != "absent" && p.Skipped == 0 && p.ReadUnits <= 0 {
					t.Errorf("got %v units", p.ReadUnits)
				}
				if after := s.svc.cache.Stats(); got == "equal" && after.Stored != before.Stored {
					t.Error("the comparison stored something")
				}
			})
		})
	}
	nothing := func(*script) {}
	past := func(s *script) { s.run(pastPut) }
	f("item", "", nil, nothing, verifiedItem, "equal")
	f("missing item", "", nil, nothing, `t {"p":{"S":"a"},"s":{"N":"2"}}`, "equal")
	f("query", "", nil, nothing, verifiedQuery, "equal")
	f("scan", "", nil, nothing, verifiedScan, "equal")
	f("global index", "", nil, nothing, globalQuery, "skipped: global-index")
	f("not stored", "", nil, nothing, `t {"p":{"S":"a"},"s":{"N":"3"}}`, "absent")

	f("item written past", "", nil, past, verifiedItem, "unexplained")
	f("item written, the fence broken", "", through, past, verifiedItem, "violation: v")
	f("item deleted, the fence broken", "", through, func(s *script) {
		s.run(`past DeleteItem {"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	}, verifiedItem, "violation: g p s v")
	f("item created, the fence broken", "", through, func(s *script) {
		s.run(`past PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"2"}}}`)
	}, `t {"p":{"S":"a"},"s":{"N":"2"}}`, "violation: p s")
	f("query, the fence broken", "", through, past, verifiedQuery, "violation: Items")
	f("scan, the fence broken", "", through, past, verifiedScan, "violation: Items")
	f("store in the process", "", func(c *Config) { c.Local = true }, past, verifiedItem, "violation: v")
	f("written during the read", "", through, func(s *script) {
		s.origin.next = append(s.origin.next, func(context.Context, string, []byte) (*origin.Response, error) {
			s.send("PutItem", otherItem)
			return nil, nil
		})
	}, verifiedItem, "explained")
	f("the origin fails", "", through, func(s *script) { s.run("origin down") }, verifiedItem, "skipped: origin-error")

	f("followed, in time", "streams=on", nil, past, verifiedItem, "explained")
	f("followed, and all writes pass through", "streams=on", through, past, verifiedItem, "violation: v")
	f("followed, and not read", "streams=on", nil, func(s *script) { s.run("origin stall"); past(s) }, verifiedItem, "skipped: stream-lagging")
	f("followed, and records are ignored", "streams=on", nil, func(s *script) {
		s.run("origin stall")
		past(s)
		s.svc.peek([]byte("t")).feed.raise(s.svc.cache.Now() + int64(time.Minute))
	}, verifiedItem, "violation: v")
}

// statedOrigin is an origin in a state.
type statedOrigin struct {
	*scriptOrigin
	state origin.State
}

func (o statedOrigin) State() origin.State { return o.state }

// TestVerifyTrouble checks that nothing is read from an origin with an open breaker or a queue.
func TestVerifyTrouble(t *testing.T) {
	for why, state := range map[string]origin.State{skipBreaker: {Breaker: "open"}, skipQueued: {Queued: 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := verifiable(t, "", nil)
			s.cfg.Connect = func(origin.Config) (Origin, error) { return statedOrigin{s.origin, state}, nil }
			if err := s.svc.Reconfigure(s.cfg); err != nil {
				t.Fatal(err)
			}
			s.origin.requests()
			p := verified(s, admin.VerifyRequest{List: []string{verifiedItem}})
			if sent := s.origin.requests(); p.Skips[why] != 1 || sent != "" {
				t.Errorf("%s: got %+v, and sent %s", why, p, sent)
			}
		})
	}
}

// TestPageForm checks which answers of queries are equal.
func TestPageForm(t *testing.T) {
	const one = `{"Items":[{"a":{"N":"1"}},{"a":{"SS":["x","y"]}}],"Count":2,"ScannedCount":2}`
	f := func(other string, want bool) {
		t.Helper()
		a, b := newComparedAnswer(false, []byte(one)), newComparedAnswer(false, []byte(other))
		if got := string(a.form) == string(b.form); !a.ok || !b.ok || got != want {
			t.Errorf("%s: got %v, want %v", other, got, want)
		}
	}
	f(`{"Count":2, "ScannedCount":2,"Items":[{"a":{"SS":["y","x"]}},{"a":{"N":"1.0"}}],"ConsumedCapacity":{"CapacityUnits":7}}`, true)
	f(`{"Items":[{"a":{"N":"1"}},{"a":{"SS":["x","y"]}}],"Count":2,"ScannedCount":3}`, false)
	f(`{"Items":[{"a":{"N":"1"}},{"a":{"SS":["x","y"]}}],"Count":2,"ScannedCount":2,"LastEvaluatedKey":{"a":{"N":"1"}}}`, false)
	f(`{"Items":[{"a":{"N":"2"}},{"a":{"SS":["x","y"]}}],"Count":2,"ScannedCount":2}`, false)
	f(`{"Count":2,"ScannedCount":2}`, false)
}

// TestVerifyExpiry compares items that the origin has removed by their time to live.
func TestVerifyExpiry(t *testing.T) {
	const put = `PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"ttl":{"N":"946684830"}}}` // half a minute after the start of the bubble
	// With a negative wait the removal is reported a second after it.
	f := func(name string, change func(*Config), wait time.Duration, entry string, want func(p *admin.VerifyProgress) uint64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				change(&s.cfg)
				s.run(`past UpdateTimeToLive {"TableName":"t","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`)
				s.run("past " + put)
				s.run(getVerified)
				s.run(verifiedQuery)
				if time.Sleep(max(wait, -wait)); wait < 0 {
					go func() {
						time.Sleep(time.Second)
						s.svc.ItemRemoved()("t", []byte(`{"p":{"S":"a"},"s":{"N":"1"}}`))
					}()
				}
				s.run(`past DeleteItem {"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
				p := verified(s, admin.VerifyRequest{List: []string{entry}})
				if want(&p) != 1 {
					t.Errorf("got %+v", p)
				}
			})
		})
	}
	explained := func(p *admin.VerifyProgress) uint64 { return p.Explained }
	unexplained := func(p *admin.VerifyProgress) uint64 { return p.Unexplained }
	violations := func(p *admin.VerifyProgress) uint64 { return p.VerifyCounts.Violations }
	f("expired", through, time.Minute, verifiedItem, explained)
	f("not expired", through, 0, verifiedItem, violations)
	f("query", through, time.Minute, verifiedQuery, unexplained)
	f("never reported by a store in the process", func(c *Config) { c.Local = true }, time.Minute, verifiedItem, violations)
	f("reported late by a store in the process", func(c *Config) { c.Local = true }, -time.Minute, verifiedItem, explained)
	f("hidden", func(c *Config) { c.ExpireItems = []string{"t"} }, 0, verifiedItem, unexplained)
}

// TestVerifyHistory checks the description of a violation, and how many are kept.
func TestVerifyHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := verifiable(t, "", func(c *Config) { through(c); c.Verify.Rate, c.Verify.Budget = 1, 1000 })
		s.send("PutItem", otherItem)
		time.Sleep(time.Minute)
		s.run(`past PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"z"}}}`)
		served := time.Now()
		s.run(getVerified) // it is sampled
		s.svc.verify.running.Wait()
		v := s.svc.Verification()
		if len(v.Recent) != 1 || v.VerifyCounts.Violations != 1 || v.RightAtLeast != nil || v.Rate != 1 || v.Running {
			t.Fatalf("got %+v", v)
		}
		got := v.Recent[0]
		if got.Kind != "item" || !slices.Equal(got.Differs, []string{"g", "v"}) || got.Cached == got.Origin || !got.Served.Equal(served) ||
			!got.Filled.Equal(served.Add(-time.Minute)) || len(got.Tags) != 4 || got.Tags[0].Then != got.Tags[0].Now || got.Tags[0].Moved.After(*got.Filled) {
			t.Errorf("got %+v", got)
		}
		if len(got.Writes) != 1 || got.Writes[0].Operation != "PutItem" || !got.Writes[0].Time.Equal(*got.Filled) {
			t.Errorf("got the writes %+v", got.Writes)
		}
		if text, _ := json.Marshal(got); strings.Contains(string(text), `"z"`) || strings.Contains(string(text), `"a"`) {
			t.Errorf("a key or a value is in the clear: %s", text)
		}
		for range 2 * maxViolations {
			time.Sleep(2 * time.Second)
			s.run(getVerified)
		}
		s.svc.verify.running.Wait()
		if v = s.svc.Verification(); len(v.Recent) != maxViolations || v.VerifyCounts.Violations < maxViolations+10 {
			t.Errorf("%d of %d violations are kept", len(v.Recent), v.VerifyCounts.Violations)
		}
	})
}

// TestVerifyRate checks how many hits are compared, and that a budget limits them.
func TestVerifyRate(t *testing.T) {
	f := func(rate, budget float64, atLeast, limit uint64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := verifiable(t, "", func(c *Config) { c.Verify.Rate, c.Verify.Budget = rate, budget })
			began := s.svc.Verification()
			for range 1000 {
				time.Sleep(100 * time.Millisecond)
				s.run(getVerified)
			}
			s.svc.verify.running.Wait()
			v := s.svc.Verification()
			got := v.Equal - began.Equal
			if got < atLeast || got > limit || v.Checked() != v.Equal || *v.RightAtLeast != admin.RightAtLeast(v.Equal) {
				t.Errorf("with a rate of %g and a budget of %g: %d comparisons of 1000 hits within 100 s, want %d to %d: %+v", rate, budget, got, atLeast, limit, v)
			}
			if v.Tables[0].Table != "t" || v.Tables[0].Equal != v.Equal {
				t.Errorf("got the tables %+v", v.Tables)
			}
		})
	}
	f(1, 100, 85, 115)
	f(0.1, 100, 7, 14)
	f(5, 1, 85, 115) // a missing or small item costs a unit
}

// TestVerifySampling checks a request for comparisons of hits.
func TestVerifySampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := verifiable(t, "", through)
		traffic, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		defer func() { stop(); <-ended }()
		go func() {
			defer close(ended)
			for traffic.Err() == nil {
				time.Sleep(10 * time.Millisecond)
				for _, op := range []string{getVerified, verifiedQuery, globalQuery} {
					name, body, _ := strings.Cut(op, " ")
					s.svc.Serve(detached(t, name, body))
				}
			}
		}()
		p := verified(s, admin.VerifyRequest{Seconds: 10})
		if p.Equal < 150 || p.Equal > 250 || p.Skipped > 0 || p.Part != 1 {
			t.Errorf("got %+v within 10 s", p)
		}
		if p = verified(s, admin.VerifyRequest{Count: 30, Rate: 100}); p.Equal < 30 || p.Equal > 60 {
			t.Errorf("got %+v, want 30", p)
		}
		if p = verified(s, admin.VerifyRequest{Table: "u", Seconds: 1}); p.VerifyCounts != (admin.VerifyCounts{}) {
			t.Errorf("got %+v of another table", p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		other := make(chan error)
		go func() {
			other <- s.svc.Verify(ctx, &admin.VerifyRequest{}, func(admin.VerifyProgress) {})
		}()
		time.Sleep(time.Second)
		if err := s.svc.Verify(t.Context(), &admin.VerifyRequest{}, nil); !errors.Is(err, admin.ErrBusy) || !s.svc.Verification().Running {
			t.Errorf("got %v beside another request", err)
		}
		cancel()
		if err := <-other; !errors.Is(err, context.Canceled) || s.svc.Verification().Running || s.svc.verify.due.Load() != never {
			t.Errorf("got %v for a cancelled request", err)
		}
		if p = verified(s, admin.VerifyRequest{List: []string{"t x", "nothing", "t {}", verifiedItem}}); p.Equal != 1 || len(p.Problems) != 3 {
			t.Errorf("got %+v of a list with mistakes", p)
		}
	})
}

// TestVerifyRequests checks that wrong requests are refused.
func TestVerifyRequests(t *testing.T) {
	f := func(r admin.VerifyRequest, want string) {
		t.Helper()
		if err := completeVerifyRequest(&r); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", r, err, want)
		}
	}
	f(admin.VerifyRequest{}, "")
	f(admin.VerifyRequest{Rate: -1}, "rate must be positive, and 1000 at most")
	f(admin.VerifyRequest{Rate: math.NaN()}, "rate must be positive")
	f(admin.VerifyRequest{Budget: 1e9}, "budget must be positive")
	f(admin.VerifyRequest{Seconds: 1e9}, "seconds must be positive")
	f(admin.VerifyRequest{List: []string{}, Table: "t"}, "not for a list")
	f(admin.VerifyRequest{List: make([]string, 1001)}, "too many")
}

// TestVerifyReplaced checks that an entry counts as valid if another one of the same fill is found.
func TestVerifyReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := verifiable(t, "", nil)
		x := s.send("GetItem", strings.TrimPrefix(getVerified, "GetItem "))
		if x.Record.Decision != telemetry.Hit {
			t.Fatalf("got %s", x.Record.Decision)
		}
		k, err := s.svc.verify.find(t.Context(), verifiedItem)
		if err != nil || !k.holds() {
			t.Fatalf("got %v, %v", k, err)
		}
		s.svc.space.Attach(k.entry, []byte("form"))
		if !k.holds() {
			t.Error("an entry with a form is not the same one")
		}
		s.svc.cache.Apply(cache.Change{Tags: []cache.Tag{s.svc.peek([]byte("t")).tags.table}})
		s.run(getVerified)
		if _, found := s.svc.space.Peek(k.entry.Key(), s.svc.cache.Now()); found != cache.Fresh || k.holds() {
			t.Errorf("state %d of the item after a purge; the entry before it must not hold", found)
		}
	})
}
