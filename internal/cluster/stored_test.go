package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
)

func TestStoredFrames(t *testing.T) {
	q := storedRequest{from: 1 << 62, epoch: 300, service: "orders", questions: [][]byte{[]byte("a"), {}, []byte("bc")}}
	b := q.encode()
	if got, err := parseStoredRequest(b); err != nil || fmt.Sprint(got) != fmt.Sprint(q) {
		t.Errorf("got %v, %v; want %v", got, err, q)
	}
	whole := len(q.encode()) - len(appendList(nil, q.questions))
	for n := range whole {
		if _, err := parseStoredRequest(b[:n]); err == nil {
			t.Errorf("%d bytes are a request", n)
		}
	}
	q.questions = make([][]byte, maxQuestions+1)
	for _, bad := range [][]byte{b[:len(b)-1], q.encode()} {
		if _, err := parseStoredRequest(bad); err == nil {
			t.Errorf("%x is a request", bad)
		}
	}
	answers := []storedAnswer{{}, {state: found, shared: cache.Shared{Kind: 3, Hit: true, TTL: time.Hour, Payload: []byte("payload")}}, {state: later}}
	var reply []byte
	for _, a := range answers {
		reply = appendStored(reply, &a)
	}
	if got, err := parseStoredReply(reply, 3); err != nil || fmt.Sprint(got) != fmt.Sprint(answers) {
		t.Errorf("got %v, %v; want %v", got, err, answers)
	}
	for n := range len(reply) {
		if _, err := parseStoredReply(reply[:n], 3); err == nil {
			t.Errorf("%d of %d bytes are a reply", n, len(reply))
		}
	}
	if _, err := parseStoredReply([]byte{9}, 1); err == nil {
		t.Error("an unknown state is a reply")
	}
}

// A reply has as many answers as fit, and at least one.
func TestStoredReplyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		o := &source{value: "x"}
		o.serve(nodes)
		var keys [][]byte
		for i, size := range []int{maxPeerAnswer, 10, maxPeerAnswer + 1} {
			key := fmt.Append(nil, "key", i)
			keys = append(keys, key)
			f := cache.Filling{Payload: make([]byte, size), Kind: 7, TTL: time.Hour}
			nodes[1].space.Store(nodes[1].cache.Note(item), key, &f)
		}
		to, epoch := nodes[1].Status().Instance, nodes[1].Status().View.Epoch
		if _, err := nodes[0].askStored(context.Background(), to, epoch-1, "site", keys); !errors.Is(err, errNoReply) {
			t.Errorf("a request of another epoch: %v", err)
		}
		ask := func(questions [][]byte) (states []byte) {
			answers, err := nodes[0].askStored(context.Background(), to, epoch, "site", questions)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				states = append(states, a.state)
			}
			return states
		}
		for _, c := range []struct {
			questions [][]byte
			want      string
		}{
			{keys, fmt.Sprint([]byte{found, later, later})},
			{keys[1:], fmt.Sprint([]byte{found, absent})}, // what is too long is not sent
		} {
			if got := fmt.Sprint(ask(c.questions)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		}
	})
}
