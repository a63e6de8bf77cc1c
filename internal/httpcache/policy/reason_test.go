package policy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

func TestReasonsAreComplete(t *testing.T) {
	if len(Reasons) != int(Passed)+1 {
		t.Fatalf("%d rows for %d reasons", len(Reasons), Passed+1)
	}
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	answering := regexp.MustCompile(`^(hit|fwd=(bypass|method|uri-miss|vary-miss|miss|request|stale|partial))(; detail=[a-z-]+)?$`)
	storing := regexp.MustCompile(`^(stored|detail=[a-z-]+)$`)
	names, texts := map[string]bool{}, map[string]bool{}
	for i, r := range Reasons {
		if int(r.Reason) != i {
			t.Errorf("row %d describes reason %d", i, r.Reason)
		}
		if !name.MatchString(r.Name) || names[r.Name] {
			t.Errorf("bad or repeated name %q", r.Name)
		}
		if r.Status != "" && texts[r.Status] {
			t.Errorf("%s: another reason has the status %q too", r.Name, r.Status)
		}
		names[r.Name], texts[r.Status] = true, true
		switch {
		case r.Decision == telemetry.None && (!storing.MatchString(r.Status) || r.Reason < Stored):
			t.Errorf("%s: status %q", r.Name, r.Status)
		case r.Decision == telemetry.Local && r.Status != "":
			t.Errorf("%s: Kasoku's own answers have no Cache-Status, want an empty status", r.Name)
		case r.Decision != telemetry.None && r.Decision != telemetry.Local && !answering.MatchString(r.Status):
			t.Errorf("%s: status %q", r.Name, r.Status)
		}
		if len(r.Help) < 20 || r.Help[len(r.Help)-1] != '.' {
			t.Errorf("%s: help is no sentence: %q", r.Name, r.Help)
		}
		if r.Reason.String() != r.Name || r.Reason.Info() != &Reasons[i] {
			t.Errorf("%s: methods and table differ", r.Name)
		}
	}
	if Reason(200).String() != "unknown" {
		t.Error("a reason outside the table is not unknown")
	}
}

func TestCacheStatus(t *testing.T) {
	f := func(want string, s CacheStatus) {
		t.Helper()
		if got := string(s.Append(nil)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("kasoku; hit; ttl=376", CacheStatus{Reason: Fresh, Timed: true, TTL: 376})
	f("kasoku; hit; detail=max-stale; ttl=-12", CacheStatus{Reason: ClientTakesStale, Timed: true, TTL: -12})
	f("kasoku; fwd=uri-miss; stored; ttl=60", CacheStatus{Reason: URIMiss, Forwarded: true, Storing: Stored, Timed: true, TTL: 60})
	f("kasoku; fwd=uri-miss; detail=no-store", CacheStatus{Reason: URIMiss, Forwarded: true, Storing: ResponseNoStore})
	f("kasoku; fwd=stale; fwd-status=304; stored; ttl=60", CacheStatus{Reason: Expired, Forwarded: true, FwdStatus: 304, Storing: Stored, Timed: true, TTL: 60})
	f("kasoku; fwd=uri-miss; collapsed; stored", CacheStatus{Reason: URIMiss, Forwarded: true, Collapsed: true, Storing: Stored})
	f("kasoku; fwd=request; detail=no-cache", CacheStatus{Reason: RequestNoCache, Forwarded: true, Storing: ResponsePrivate})
	f("kasoku; fwd=request; detail=no-cache; stored", CacheStatus{Reason: RequestNoCache, Forwarded: true, Storing: Stored})
	f("kasoku; fwd=miss; detail=down", CacheStatus{Reason: NoValue, Detail: "down", Forwarded: true, Storing: ResponsePrivate})
	f("kasoku; fwd=miss; detail=down; collapsed; stored", CacheStatus{Reason: NoValue, Detail: "down", Forwarded: true, Collapsed: true, Storing: Stored})
	f("kasoku; fwd=miss; detail=credentials", CacheStatus{Reason: CredentialsPassed, Detail: "down"})
	f("kasoku; fwd=stale; detail=origin-error", CacheStatus{Reason: Expired, Forwarded: true, Storing: OriginFailed})
	f("", CacheStatus{Reason: OnlyIfCachedMissed})
}

// TestCacheStatusParameters combines every reason with every other, and checks that no
// parameter is repeated.
func TestCacheStatusParameters(t *testing.T) {
	for _, reason := range Reasons {
		if reason.Decision == telemetry.None {
			continue // of a response, not of a request
		}
		for _, storing := range Reasons {
			for _, s := range []CacheStatus{
				{Reason: reason.Reason, Forwarded: true, Storing: storing.Reason},
				{Reason: reason.Reason, Forwarded: true, Storing: storing.Reason, Detail: "d", FwdStatus: 304, Collapsed: true, Timed: true},
			} {
				seen := map[string]bool{}
				for _, parameter := range strings.Split(string(s.Append(nil)), "; ") {
					name, _, _ := strings.Cut(parameter, "=")
					if seen[name] {
						t.Errorf("%s and %s: the parameter %s is repeated: %s", reason.Name, storing.Name, name, s.Append(nil))
					}
					seen[name] = true
				}
			}
		}
	}
}
