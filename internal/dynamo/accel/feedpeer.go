package accel

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// feedQuestion asks the owner of a feed how far it has read the stream.
type feedQuestion struct {
	TableName, Stream string
	From              streams.Checkpoint `json:",omitempty"` // for an owner that has just become it
}

// feedAnswer is the answer. It means: everything that the stream had before that time, counted
// back from the answer, was applied on all nodes.
type feedAnswer struct {
	Behind time.Duration // in nanoseconds
	From   streams.Checkpoint
}

// ask asks the owner of the feed how far it has read the stream. It reports whether the owner reads
// it in time.
func (f *feed) ask(ctx context.Context) bool {
	c := f.svc.cache
	start, owner := c.Now(), c.Owner(f.key)
	body, err := json.Marshal(feedQuestion{f.table, f.stream, f.checkpoint()})
	if len(body) > cache.MaxPeerRequest/2 {
		body, err = json.Marshal(feedQuestion{TableName: f.table, Stream: f.stream})
	}
	if err != nil {
		return false
	}
	q := peerRequest{origin: f.origin, kind: keyFeed, body: body}
	s, ok := c.AskOwner(ctx, f.svc.name, f.key, q.encode())
	var a feedAnswer
	if !ok || s.Kind != kindFeed || json.Unmarshal(s.Payload, &a) != nil || a.Behind < 0 {
		return false
	}
	f.note(owner, "")
	f.resumeAt(a.From)
	f.raise(start - int64(a.Behind)) // the owner has answered after start
	return a.Behind < f.maxLag
}

// resumeAt records where another node has read the stream to.
func (f *feed) resumeAt(c streams.Checkpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.follower == nil {
		f.setPlace(c)
	}
}

// answerFeed answers a feedQuestion of another node. It follows the stream from then on, if it did
// not yet.
func (s *Service) answerFeed(ctx context.Context, body []byte) (a cache.Shared, ok bool) {
	var q feedQuestion
	if json.Unmarshal(body, &q) != nil {
		return a, false
	}
	f := s.table(ctx, []byte(q.TableName)).feed
	if f == nil || f.stream != q.Stream {
		return a, false
	}
	f.mu.Lock()
	f.asked = s.cache.Now()
	follower := f.follower
	if follower == nil {
		f.setPlace(q.From)
	}
	f.mu.Unlock()
	if follower == nil {
		return a, false
	}
	answer := feedAnswer{From: follower.Checkpoint()} // before the time: records may be applied meanwhile
	through, ok := follower.Through()
	if !ok {
		return a, false
	}
	answer.Behind = max(0, time.Since(through))
	payload, err := json.Marshal(answer)
	if len(payload) > cache.MaxShared/2 {
		payload, err = json.Marshal(feedAnswer{Behind: answer.Behind})
	}
	return cache.Shared{Payload: payload, Kind: kindFeed, Hit: true, TTL: time.Second}, err == nil
}

// callStreams implements streams.CallFunc.
func (s *Service) callStreams(ctx context.Context, operation string, body []byte) ([]byte, error) {
	return s.settings.Load().callStreams(ctx, operation, body)
}

func (s *settings) callStreams(ctx context.Context, operation string, body []byte) ([]byte, error) {
	resp, err := sendTo(ctx, s.streams, sender{}, streamsPrefix+operation, body)
	if err != nil {
		return nil, err
	}
	if resp.Status != 200 {
		e := &streams.Error{Type: string(wire.ErrorType(resp.Body))}
		if text, _ := memberOf(resp.Body, "message"); text != nil {
			b, _ := wire.AppendExact(nil, text)
			e.Message = string(b)
		}
		return nil, e
	}
	return resp.Body, nil
}
