package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
)

// script answers requests in order.
type script struct {
	t       *testing.T
	answers []answer
	got     []*nats.Msg
}

// answer is the answer to a request whose subject begins with to.
type answer struct {
	to     string
	data   string
	header nats.Header
	err    error
	silent bool // there is none until the context ends
}

func (s *script) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	if len(s.answers) == 0 {
		s.t.Errorf("unexpected request to %s", m.Subject)
		return nil, errors.New("the script is at its end")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	s.got = append(s.got, m)
	if !strings.HasPrefix(m.Subject, a.to) {
		s.t.Errorf("got a request to %s, want %s", m.Subject, a.to)
	}
	if a.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &nats.Msg{Data: []byte(a.data), Header: a.header}, a.err
}

// The subjects of requests.
const (
	direct  = "$JS.API.DIRECT.GET.KV_members.$KV.members.test.view"
	leading = "$JS.API.STREAM.MSG.GET.KV_members"
	info    = "$JS.API.STREAM.INFO.KV_members"
	create  = "$JS.API.STREAM.CREATE.KV_members"
	key     = "$KV.members.test.view"
	proof   = "$KV.members.test.proof"
)

// scripted returns a store with answers.
func scripted(t *testing.T, answers ...answer) (*Store, *script) {
	s := &script{t: t, answers: answers}
	return New(Config{Cluster: "test", Bucket: "members", Replicas: 3, Requester: s}), s
}

// failure returns an error answer.
func failure(to string, code int) answer {
	return answer{to: to, data: fmt.Sprintf(`{"error":{"code":400,"err_code":%d,"description":"failed"}}`, code)}
}

// ack returns the answer to a write.
func ack(to string, seq uint64) answer {
	return answer{to: to, data: fmt.Sprintf(`{"stream":"KV_members","seq":%d}`, seq)}
}

// sample returns a view and its value.
func sample(t *testing.T, rev uint64) (protocol.View, string) {
	t.Helper()
	v := protocol.View{Rev: rev, Creator: 7, Epoch: 3}
	value, err := view.Marshal("test", &v)
	if err != nil {
		t.Fatal(err)
	}
	return v, string(value)
}

// found returns the answer of a server with a copy.
func found(seq uint64, value string) answer {
	return answer{to: direct, data: value, header: nats.Header{"Nats-Sequence": {fmt.Sprint(seq)}}}
}

// foundByLeader returns the answer of the leader.
func foundByLeader(seq uint64, value string) answer {
	data, _ := json.Marshal(map[string]any{"message": map[string]any{"seq": seq, "data": []byte(value)}})
	return answer{to: leading, data: string(data)}
}

func TestRead(t *testing.T) {
	v5, value5 := sample(t, 5)
	v6, value6 := sample(t, 6)
	none := answer{to: direct, header: nats.Header{"Status": {"404"}}}
	marker := answer{to: direct, header: nats.Header{"Nats-Sequence": {"9"}, "KV-Operation": {"DEL"}}}
	for name, c := range map[string]struct {
		answers []answer
		want    protocol.View
		err     string
	}{
		"unchanged":          {[]answer{found(5, value5), ack(proof, 6)}, v5, ""},
		"no view":            {[]answer{none, ack(proof, 6)}, protocol.View{}, ""},
		"deleted":            {[]answer{marker, ack(proof, 10)}, protocol.View{}, ""},
		"old copy":           {[]answer{found(5, value5), failure(proof, codeWrongSequence), foundByLeader(6, value6), ack(proof, 7)}, v6, ""},
		"old leader":         {[]answer{found(5, value5), failure(proof, codeWrongSequence), foundByLeader(5, value5), failure(proof, codeWrongSequence), foundByLeader(6, value6), ack(proof, 7)}, v6, ""},
		"concurrent proofs":  {[]answer{found(5, value5), failure(proof, codeWrongConstant), failure(proof, codeWrongConstant), ack(proof, 6)}, v5, ""},
		"no direct reads":    {[]answer{{to: direct, err: nats.ErrNoResponders}, foundByLeader(5, value5), ack(proof, 6)}, v5, ""},
		"no view, by leader": {[]answer{{to: direct, err: nats.ErrNoResponders}, failure(leading, codeMessageNotFound), ack(proof, 6)}, protocol.View{}, ""},
		"no leader":          {[]answer{found(5, value5), {to: proof, err: nats.ErrNoResponders}}, protocol.View{}, "cluster view: bucket members: no server answers"},
		"silent leader":      {[]answer{found(5, value5), {to: proof, silent: true}}, protocol.View{}, "cluster view: bucket members: no answer from JetStream in time"},
		"closed":             {[]answer{{to: direct, err: nats.ErrConnectionClosed}}, protocol.View{}, "cluster view: bucket members: nats: connection closed"},
		"another error":      {[]answer{found(5, value5), failure(proof, 10077)}, protocol.View{}, "cluster view: bucket members: failed (10077)"},
		"not JSON":           {[]answer{found(5, value5), {to: proof, data: "+OK"}}, protocol.View{}, "cluster view: bucket members: the answer of JetStream: invalid"},
		"another stream":     {[]answer{found(5, value5), {to: proof, data: `{"stream":"other","seq":1}`}}, protocol.View{}, "cluster view: bucket members: the answer to a write is not one of its stream"},
		"another status":     {[]answer{{to: direct, header: nats.Header{"Status": {"408"}}}}, protocol.View{}, `cluster view: bucket members: a read was answered with status "408" and no message`},
		"damaged":            {[]answer{found(5, "{}"), ack(proof, 6)}, protocol.View{}, "cluster view: bucket members: the value of test.view: format is missing"},
		"empty":              {[]answer{found(5, ""), ack(proof, 6)}, protocol.View{}, "cluster view: bucket members: the value of test.view: it is not a JSON object"},
		"newer format": {[]answer{found(5, strings.Replace(value5, `"format":{"N":"1"}`, `"format":{"N":"9"}`, 1)), ack(proof, 6)}, protocol.View{},
			"cluster view: bucket members: the value of test.view: it has format 9, which a newer version of Kasoku wrote"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, requests := scripted(t, c.answers...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				v, err := s.Read(ctx)
				if !reflect.DeepEqual(v, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got %+v, %v; want %+v, %s", v, err, c.want, c.err)
				}
				if len(requests.answers) > 0 {
					t.Errorf("%d answers were not used", len(requests.answers))
				}
			})
		})
	}
}

// TestBusy lets all attempts fail because of others until the caller's time is over.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, value := sample(t, 5)
		answers := []answer{found(5, value)}
		for range 10_000 {
			answers = append(answers, failure("$KV.members.test.", codeWrongConstant))
		}
		s, requests := scripted(t, answers...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Read(ctx); err == nil || !strings.Contains(err.Error(), "did not end in time") {
			t.Errorf("got %v", err)
		}
		requests.answers = append([]answer{foundByLeader(5, value)}, requests.answers...)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		v.Rev++
		if err := s.Write(ctx, 5, v); err == nil || errors.Is(err, view.ErrConflict) || !strings.Contains(err.Error(), "did not end in time") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWrite(t *testing.T) {
	_, value := sample(t, 5)
	next, nextValue := sample(t, 6)
	first, _ := sample(t, 1)
	other := next
	other.Creator = 8
	for name, c := range map[string]struct {
		expect  uint64
		view    protocol.View
		answers []answer
		want    string // the number in the condition, "" for no write
		err     string // "conflict" for view.ErrConflict
	}{
		"first":          {0, first, []answer{failure(leading, codeMessageNotFound), ack(key, 3)}, "0", ""},
		"first again":    {0, first, []answer{foundByLeader(5, value)}, "", "conflict"},
		"next":           {5, next, []answer{foundByLeader(9, value), ack(key, 10)}, "9", ""},
		"other revision": {5, next, []answer{foundByLeader(9, nextValue)}, "", "conflict"},
		"other creator":  {5, other, []answer{foundByLeader(9, value)}, "", "conflict"},
		"none":           {5, next, []answer{failure(leading, codeMessageNotFound)}, "", "conflict"},
		"damaged":        {5, next, []answer{foundByLeader(9, "{}")}, "", "cluster view: bucket members: the value of test.view: format is missing"},
		"first, damaged": {0, first, []answer{foundByLeader(9, "{}")}, "", "conflict"},
		"overtaken":      {5, next, []answer{foundByLeader(9, value), failure(key, codeWrongSequence)}, "9", "conflict"},
		"busy":           {5, next, []answer{foundByLeader(9, value), failure(key, codeWrongConstant), ack(key, 10)}, "9", ""},
		"no answer":      {5, next, []answer{foundByLeader(9, value), {to: key, silent: true}}, "9", "cluster view: bucket members: no answer from JetStream in time"},
		"no leader":      {5, next, []answer{foundByLeader(9, value), {to: key, err: nats.ErrNoResponders}}, "9", "cluster view: bucket members: no server answers"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, requests := scripted(t, c.answers...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := s.Write(ctx, c.expect, c.view)
				switch {
				case c.err == "conflict" && err == view.ErrConflict:
				case c.err == "" && err == nil:
				case c.err != "" && c.err != "conflict" && err != nil && strings.HasPrefix(err.Error(), c.err):
				default:
					t.Errorf("got %v, want %s", err, c.err)
				}
				got := ""
				if m := requests.got[len(requests.got)-1]; m.Subject == key {
					got = m.Header.Get(nats.ExpectedLastSubjSeqHdr)
					if subject := m.Header.Get(expectedSubjectHeader); subject != "" {
						t.Errorf("the condition is on %s", subject)
					}
				}
				if got != c.want {
					t.Errorf("got the condition %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestWriteAfterRead checks that a view that was read or written is not read again for the next
// write, and that an older one does not replace it.
func TestWriteAfterRead(t *testing.T) {
	v, value := sample(t, 5)
	s, requests := scripted(t, found(20, value), ack(proof, 21), ack(key, 22), ack(key, 24), failure(key, codeWrongSequence))
	if _, err := s.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for rev := v.Rev; rev < 8; rev++ {
		v.Rev = rev + 1
		if err := s.Write(t.Context(), rev, v); err != nil && err != view.ErrConflict {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range requests.got[1:] {
		got = append(got, m.Subject+" "+m.Header.Get(nats.ExpectedLastSubjSeqHdr)+" "+m.Header.Get(expectedSubjectHeader))
	}
	want := []string{proof + " 20 " + key, key + " 20 ", key + " 22 ", key + " 24 "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	older, _ := sample(t, 6)
	s.remember(22, &older)
	if s.last.rev != 7 {
		t.Errorf("revision %d replaced 7", s.last.rev)
	}
}
