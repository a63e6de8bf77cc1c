package bucket

import (
	"encoding/json"
	"fmt"
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
	data, err := json.Marshal(map[string]any{"config": c, "state": map[string]any{"last_seq": 9}})
	if err != nil {
		t.Fatal(err)
	}
	return answer{to: info, data: string(data)}
}

func TestPrepare(t *testing.T) {
	unused := func(last, first uint64) answer {
		return answer{to: info, data: fmt.Sprintf(`{"config":{"subjects":["$KV.members.>"],"num_replicas":3,"max_msgs_per_subject":1,"first_seq":%d},"state":{"last_seq":%d}}`, first, last)}
	}
	missing := failure(info, codeStreamNotFound)
	usual := described(t, nil)
	supported := []answer{ack(proof, 4), failure(proof, codeWrongSequence)}
	for name, c := range map[string]struct {
		answers []answer
		err     string
	}{
		"exists":            {append([]answer{usual}, supported...), ""},
		"missing":           {append([]answer{missing, {to: create, data: `{}`}, usual}, supported...), ""},
		"created by others": {append([]answer{missing, failure(create, codeNameInUse), usual}, supported...), ""},
		"unused":            {append([]answer{unused(0, 0), ack(key, 1)}, supported...), ""},
		"unused, numbered":  {append([]answer{unused(41, 42), ack(key, 42)}, supported...), ""},
		"used by another":   {append([]answer{unused(41, 42), failure(key, codeWrongSequence)}, supported...), ""},
		"one message":       {append([]answer{unused(42, 42)}, supported...), ""},
		"unused, no answer": {[]answer{unused(0, 0), {to: key, err: nats.ErrConnectionClosed}}, "cluster view: bucket members: nats: connection closed"},
		"not allowed":       {[]answer{missing, failure(create, 10025)}, "cluster view: bucket members: failed (10025)"},
		"no JetStream":      {[]answer{failure(info, codeNotForAccount)}, "cluster view: bucket members: the account needs JetStream"},
		"off":               {[]answer{failure(info, codeNotEnabled)}, "cluster view: bucket members: the account needs JetStream"},
		"no leader":         {[]answer{failure(info, codeNotAvailable)}, "cluster view: bucket members: JetStream has no leader"},
		"no server":         {[]answer{{to: info, err: nats.ErrNoResponders}}, "cluster view: bucket members: no server answers: JetStream is off"},
		"old server":        {[]answer{usual, ack(proof, 4), ack(proof, 5)}, "cluster view: bucket members: the NATS server is too old"},
		"busy server":       {[]answer{usual, ack(proof, 4), failure(proof, codeWrongConstant)}, ""},
		"subjects":          {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Subjects = []string{"a"} })}, `cluster view: bucket members: its stream has the subjects ["a"]`},
		"mirror":            {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Mirror = &jetstream.StreamSource{} })}, "cluster view: bucket members: it is a mirror"},
		"TTL":               {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxAge = 1 })}, "cluster view: bucket members: its values expire"},
		"memory":            {[]answer{described(t, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage })}, "cluster view: bucket members: it is in memory"},
		"discards":          {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 })}, "cluster view: bucket members: it discards old values"},
		"history":           {[]answer{described(t, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = -1 })}, "cluster view: bucket members: its stream keeps all values"},
		"one copy":          {append([]answer{described(t, func(c *jetstream.StreamConfig) { c.Replicas = 1 })}, supported...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, requests := scripted(t, c.answers...)
			err := s.Prepare(t.Context())
			if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
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
