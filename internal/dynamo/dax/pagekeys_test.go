package dax

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// TestPageKeys checks for which requests a key is kept and found.
func TestPageKeys(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, pageOf1)
	known := func() (requests []*pageRequest) {
		for i := range s.srv.pageKeys.slots {
			if r := s.srv.pageKeys.slots[i].Load(); r != nil {
				requests = append(requests, r)
			}
		}
		return requests
	}
	ask := func(request string, times int) (last string) {
		for range times {
			s.c.send(request)
			last = s.c.reply(2)
		}
		return last
	}
	ask(queryOf('a')+"bfff", 2)
	if n := len(known()); n != 0 {
		t.Errorf("%d keys before an answer was served in its attached form", n)
	}
	want := ask(queryOf('a')+"bfff", 1)
	if n := len(known()); n != 1 {
		t.Fatalf("%d keys instead of 1", n)
	}
	if got := ask(queryOf('a')+"bfff", 1); got != want {
		t.Errorf("by its key the answer is %s instead of %s", got, want)
	}
	r := known()[0]
	for name, v := range map[string]pageVersion{
		"operation": {scanOperation, r.goV2, r.request},
		"client":    {r.op, !r.goV2, r.request},
		"request":   {r.op, r.goV2, append([]byte{0}, r.request...)},
	} {
		if s.srv.pageKeys.find(&v) != nil {
			t.Errorf("found with another %s", name)
		}
	}
	if key := s.srv.pageKeys.find(&r.pageVersion); key != &r.key {
		t.Error("not found")
	}
	if string(unhex(t, queryOf('a')+"bfff")[beforeArguments:]) != string(r.request) {
		t.Errorf("kept the request %x", r.request)
	}
}

// TestPageKeysShareSlot checks that a request whose slot is taken gets it in the end.
func TestPageKeysShareSlot(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, pageOf1)
	keys := s.srv.pageKeys
	ask := func(request string, times int) {
		for range times {
			s.c.send(request)
			s.c.reply(2)
		}
	}
	var first, second *pageVersion
	requests := map[*atomic.Pointer[pageRequest]]string{}
	for i := 0; second == nil; i++ {
		request := queryOf(byte('0'+i%64)) + fmt.Sprintf("bf0d18%02xff", 24+i/64)
		v := pageVersion{queryOperation, false, unhex(t, request)[beforeArguments:]}
		slot := keys.slot(&v)
		if before, shared := requests[slot]; shared {
			first = &pageVersion{queryOperation, false, unhex(t, before)[beforeArguments:]}
			second = &v
			ask(before, 3)
			ask(request, 2)
			for n := 1; n < replacePageKey; n++ {
				ask(request, 1)
				if keys.find(first) == nil || keys.find(second) != nil {
					t.Fatalf("the slot was taken away after %d hits", n)
				}
			}
			ask(request, 1)
		}
		requests[slot] = request
	}
	if keys.find(first) != nil || keys.find(second) == nil {
		t.Error("the slot was not taken away")
	}
}

// beforeArguments is the length of the head and the table's name of a request of queryOf, in bytes.
const beforeArguments = 11
