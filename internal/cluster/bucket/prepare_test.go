package bucket

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// described returns the description of a bucket's stream after a change.
func described(t *testing.T, change func(*jetstream.StreamConfig)) answer {
	t.Helper()
	c := jetstream.StreamConfig{Name: "KV_members", Subjects: []string{"$KV.members.>"}, Replicas: 3, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1}
	if change != nil {
		change(&c)
	}
	data, err := json.Marshal(map[string]any{"config": c})
	if err != nil {
		t.Fatal(err)
	}
	return answer{to: info, data: string(data)}
}

func TestPrepare(t *testing.T) {
	missing := failure(info, codeStreamNotFound)
	usual := described(t, nil)
	supported := []answer{ack(proof, 4), failure(proof, codeWrongSequence)}
	for name, c := range map[string]struct {
		answers []answer
		created bool
		err     string
	}{
		"exists":            {append([]answer{usual}, supported...), false, ""},
		"missing":           {append([]answer{missing, {to: create, data: `{"did_create":true}`}, usual}, supported...), true, ""},
		"created by others": {append([]answer{missing, failure(create, codeNameInUse), usual}, supported...), false, ""},
		"equal one":         {append([]answer{missing, {to: create, data: `{}`}, usual}, supported...), false, ""},
		"not allowed":       {[]answer{missing, failure(create, 10025)}, false, "cluster view: bucket members: failed (10025)"},
		"no JetStream":      {[]answer{failure(info, codeNotForAccount)}, false, "cluster view: bucket members: the account needs JetStream"},
		"off":               {[]answer{failure(info, codeNotEnabled)}, false, "cluster view: bucket members: the account needs JetStream"},
		"no leader":         {[]answer{failure(info, codeNotAvailable)}, false, "cluster view: bucket members: JetStream has no leader"},
		"no server":         {[]answer{{to: info, err: nats.ErrNoResponders}}, false, "cluster view: bucket members: no server answers: JetStream is off"},
		"old server":        {[]answer{usual, ack(proof, 4), ack(proof, 5)}, false, "cluster view: bucket members: the NATS server is too old"},
		"busy server":       {[]answer{usual, ack(proof, 4), failure(proof, codeWrongConstant)}, false, ""},
		"subjects":          {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Subjects = []string{"a"} })}, false, `cluster view: bucket members: its stream has the subjects ["a"]`},
		"mirror":            {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Mirror = &jetstream.StreamSource{} })}, false, "cluster view: bucket members: it is a mirror"},
		"TTL":               {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxAge = 1 })}, false, "cluster view: bucket members: its values expire"},
		"memory":            {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage })}, false, "cluster view: bucket members: it is in memory"},
		"discards":          {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 })}, false, "cluster view: bucket members: it discards old values"},
		"history":           {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = -1 })}, false, "cluster view: bucket members: its stream keeps all values"},
		"one copy":          {append([]answer{described(t, func(c *jetstream.StreamConfig) { c.Replicas = 1 })}, supported...), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, requests := scripted(t, c.answers...)
			err := s.Prepare(t.Context())
			if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
			if s.Empty().IsZero() == c.created {
				t.Errorf("empty at %v", s.Empty())
			}
			if len(requests.answers) > 0 {
				t.Errorf("%d answers were not used", len(requests.answers))
			}
		})
	}
}

// TestFirstSequence checks that two buckets of the same name begin with different numbers.
func TestFirstSequence(t *testing.T) {
	seen := map[uint64]bool{}
	for range 10 {
		s, requests := scripted(t, answer{to: create, data: `{}`})
		if err := s.create(t.Context()); err != nil {
			t.Fatal(err)
		}
		var c jetstream.StreamConfig
		if err := json.Unmarshal(requests.got[0].Data, &c); err != nil {
			t.Fatal(err)
		}
		if c.FirstSeq < 1<<32 || seen[c.FirstSeq] {
			t.Errorf("got the number %d", c.FirstSeq)
		}
		seen[c.FirstSeq] = true
	}
}
