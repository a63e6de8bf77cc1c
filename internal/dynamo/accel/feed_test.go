package accel

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// feedPair is two nodes before an origin whose table t has a stream.
type feedPair struct {
	*script
	a, b *Service
	cl   *clustertest.Cluster

	recognized uint64 // the value of a.metrics.own at the last call of records
}

func newFeedPair(t *testing.T) *feedPair {
	s := newScript(t)
	s.config("streams=on")
	countKeys(&s.cfg)
	s.origin.model.tables["t"].setStream(json.RawMessage(`{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`))
	s.past(`PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	s.start()
	c, err := cache.New(cache.Config{Memory: 64 << 20, Settle: time.Nanosecond, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(s.cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	p := &feedPair{script: s, a: s.svc, b: b, cl: clustertest.Connect(s.svc.cache, c)}
	p.cl.Share(p.a.cache)
	return p
}

// get reads the item through a node and returns how that was answered.
func (p *feedPair) get(svc *Service) telemetry.Decision {
	x := edge.Detached(p.t.Context(), request("GetItem"), []byte(`{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`), time.Now())
	svc.Serve(x)
	synctest.Wait()
	if x.Reply.Status != 200 {
		p.t.Errorf("got %d %s", x.Reply.Status, x.Reply.Body)
	}
	return x.Record.Decision
}

// expect reads the item through both nodes.
func (p *feedPair) expect(what string, a, b telemetry.Decision) {
	p.t.Helper()
	if got := p.get(p.a); got != a {
		p.t.Errorf("%s: node a: got %s, want %s", what, got, a)
	}
	if got := p.get(p.b); got != b {
		p.t.Errorf("%s: node b: got %s, want %s", what, got, b)
	}
}

// warm fills both caches.
func (p *feedPair) warm() {
	p.t.Helper()
	p.get(p.a)
	p.get(p.b)
	p.expect("warm", telemetry.Hit, telemetry.Hit)
}

// write writes the item past both nodes.
func (p *feedPair) write(value string) {
	p.past(`PutItem {"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"` + value + `"}}}`)
}

// newFollowedPair returns a feedPair whose stream is read. Further steps that take multiples of 500 ms
// happen between two reads of it.
func newFollowedPair(t *testing.T) *feedPair {
	p := newFeedPair(t)
	p.get(p.b)
	time.Sleep(5100 * time.Millisecond) // of the bubble
	return p
}

// put writes the item through a node.
func (p *feedPair) put(svc *Service, value string) {
	p.t.Helper()
	p.send(svc, "PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"`+value+`"}}}`)
}

// send sends a write through a node.
func (p *feedPair) send(svc *Service, op, body string) {
	p.t.Helper()
	x := edge.Detached(p.t.Context(), request(op), []byte(body), time.Now())
	svc.Serve(x)
	synctest.Wait()
	if x.Reply.Status != 200 {
		p.t.Errorf("got %d %s", x.Reply.Status, x.Reply.Body)
	}
}

// lagSeries returns the tables and shards whose lag a service exposes.
func lagSeries(s *Service) (list []string) {
	w := httptest.NewRecorder()
	s.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.SplitSeq(w.Body.String(), "\n") {
		if m := lagLine.FindStringSubmatch(line); m != nil {
			list = append(list, m[2]+"/"+m[1])
		}
	}
	slices.Sort(list)
	return list
}

var lagLine = regexp.MustCompile(`^kasoku_streams_lag_seconds\{service="orders",shard="(.*)",table="(.*)"\} [0-9.e-]+$`)

// One node reads the stream, for both.
func TestFeedOfOtherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFeedPair(t)
		if got := p.get(p.b); got != telemetry.BypassLagging {
			t.Errorf("before the stream is read: got %s", got)
		}
		time.Sleep(5 * time.Second)
		p.warm()
		if reader := p.b.streamReport()[0].Reader; reader != "owner" {
			t.Errorf("the reader is %q", reader)
		}
		if st := p.a.streamReport()[0]; st.Reader != "" || !st.Served || len(st.Shards) != 1 {
			t.Errorf("node a: %+v", st)
		}
		shard := p.a.streamReport()[0].Shards[0].ID
		if got, want := lagSeries(p.a), []string{"/", "t/", "t/" + shard}; !slices.Equal(got, want) {
			t.Errorf("node a exposes the lags of %q, want %q", got, want)
		}
		if got, want := lagSeries(p.b), []string{"/", "t/"}; !slices.Equal(got, want) {
			t.Errorf("node b exposes the lags of %q, want %q", got, want)
		}
		p.write("y")
		time.Sleep(300 * time.Millisecond)
		p.expect("after a write", telemetry.MissInvalidated, telemetry.MissInvalidated)
		p.warm()
		p.setOrigin("stall")
		time.Sleep(3 * time.Second)
		p.expect("stalled", telemetry.BypassLagging, telemetry.BypassLagging)
		p.setOrigin("flow")
		time.Sleep(5 * time.Second)
		p.expect("flowing", telemetry.Hit, telemetry.Hit)
	})
}

// Another node continues to read the stream where the first one has stopped, and nothing is dropped.
func TestFeedIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFeedPair(t)
		p.get(p.b)
		time.Sleep(5 * time.Second)
		p.warm()
		p.cl.Own(p.b.cache)
		time.Sleep(5 * time.Second)
		if reader := p.a.streamReport()[0].Reader; reader != "owner" {
			t.Errorf("the reader is %q", reader)
		}
		p.expect("taken over", telemetry.Hit, telemetry.Hit)
		p.write("z")
		time.Sleep(300 * time.Millisecond)
		p.expect("after a write", telemetry.MissInvalidated, telemetry.Hit) // node b was filled for node a
	})
}

// A node that reads where another one has stopped forgets its earlier writes, whose records the
// other one may have read.
func TestFeedIsTakenOverByWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		p.put(p.b, "x")
		p.records("the first batch", 0)
		p.lose(true, false)
		p.put(p.b, "y")
		p.write("x")
		p.records("read by node a", 0)
		p.cl.Own(p.b.cache)
		time.Sleep(5 * time.Second)
		p.warm()
		p.write("y")
		time.Sleep(500 * time.Millisecond)
		if got := p.b.metrics.own.Value(); got != 0 {
			t.Errorf("%d records are recognized", got)
		}
		if got := p.get(p.a); got != telemetry.MissInvalidated {
			t.Errorf("got %s", got)
		}
	})
}

// A node that can't reach the reader of the stream serves nothing of the table, and one that can't
// invalidate on all nodes does not count records as read.
func TestFeedIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFeedPair(t)
		p.get(p.b)
		time.Sleep(5 * time.Second)
		p.warm()
		p.cl.Refuse(cache.ErrIsolated)
		p.write("y")
		time.Sleep(3 * time.Second)
		p.expect("without rounds", telemetry.BypassLagging, telemetry.BypassLagging)
		p.cl.Refuse(nil)
		time.Sleep(5 * time.Second)
		p.expect("with rounds", telemetry.MissInvalidated, telemetry.MissInvalidated)
		p.warm()
		p.a.unshare() // it answers no questions any more
		time.Sleep(3 * time.Second)
		p.expect("without answers", telemetry.Hit, telemetry.BypassLagging)
	})
}

// A table that isn't used is not followed after an hour, and again after its next use.
func TestFeedOfUnusedTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		s.config("streams=on")
		s.cfg.StreamsMaxLag = 20 * time.Second
		s.origin.model.tables["t"].setStream(json.RawMessage(`{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}`))
		s.start()
		const get = `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
		s.send("GetItem", get)
		time.Sleep(50 * time.Minute)
		reads := &s.svc.metrics.streams.Reads
		was := (*reads).Value()
		time.Sleep(5 * time.Minute)
		if (*reads).Value() == was {
			t.Error("the stream is not read any more")
		}
		time.Sleep(10 * time.Minute)
		was = (*reads).Value()
		time.Sleep(5 * time.Minute)
		if (*reads).Value() != was {
			t.Error("the stream is still read")
		}
		s.send("GetItem", get)
		time.Sleep(5 * time.Second)
		if (*reads).Value() == was {
			t.Error("the stream is not read again")
		}
		s.send("GetItem", get)
		if d := s.send("GetItem", get).Record.Decision; d != telemetry.HitNegative {
			t.Errorf("got %s", d)
		}
	})
}
