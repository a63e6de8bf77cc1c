package history

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// client sends one request after the other.
type client struct {
	*Run
	http   *http.Client
	rand   *rand.Rand
	memory map[string]remembered // by method, path and body
	own    own
}

// own is a client's last write through the accelerator.
type own struct {
	key, gen int32
	epoch    int
}

// result returns the floor for a result's reader, if both nodes take writes.
func (f Floor) result(key int32, o own, diverged bool) Floor {
	f.Gen = f.late
	if diverged {
		f.Gen = 0
	}
	if o.key == key && o.epoch == f.epoch {
		f.Gen = max(f.Gen, o.gen)
	}
	return f
}

// remembered is an answer that a client may revalidate.
type remembered struct {
	tag  string
	rows rows
}

func (c *client) loop(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		key := c.rand.Int32N(Keys)
		switch {
		case c.rand.IntN(100) < c.writing():
			c.write(ctx, key)
		case c.rand.IntN(3) == 0:
			c.results(ctx)
		default:
			c.document(ctx, key)
		}
	}
}

// answer is a complete answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request; tag is the value of If-None-Match, if it is not empty.
func send(ctx context.Context, client *http.Client, method, url, body, tag string) (answer, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, err
}

func (c *client) send(ctx context.Context, method, url, body, tag string) (answer, error) {
	return send(ctx, c.http, method, url, body, tag)
}

// document reads one document.
func (c *client) document(ctx context.Context, key int32) {
	s := documents[0]
	if c.rand.IntN(8) == 0 {
		s = documents[1]
	}
	s.path = fmt.Sprintf(s.path, docID(key))
	c.read(ctx, &s, key, key+1)
}

// results reads all documents at once.
func (c *client) results(ctx context.Context) {
	c.read(ctx, &results[c.rand.IntN(len(results))], 0, Keys)
}

// read requests a source, and checks the documents from first up to end in its answer.
func (c *client) read(ctx context.Context, s *source, first, end int32) {
	var floors [Keys]Floor
	began := c.now()
	for key := first; key < end; key++ {
		floors[key] = c.ledgers[key].Now(began)
		if c.cfg.Spread && s.computed {
			floors[key] = floors[key].result(key, c.own, c.diverged.Load())
		}
	}
	seen, how, ok := c.ask(ctx, s)
	if !ok {
		return
	}
	c.count(func(r *Result) {
		if end-first == 1 {
			r.Reads++
		} else {
			r.Results++
		}
	})
	for key := first; key < end; key++ {
		if why := c.ledgers[key].Check(floors[key], seen[key]); why != "" {
			c.violated("%.3f s to %.3f s: %s (%s): document %d: it %s", began.Seconds(), c.now().Seconds(), s.name, how, key, why)
		}
	}
}

// ask returns the documents of a source and the answer's Cache-Status. ok is false if the
// request failed.
func (c *client) ask(ctx context.Context, s *source) (seen rows, how string, ok bool) {
	what := s.method + s.path + s.body
	known, tag := c.memory[what], ""
	if c.rand.IntN(2) == 0 {
		tag = known.tag
	}
	a, err := c.send(ctx, s.method, c.cfg.Through+"/"+c.cfg.DB+"/"+s.path, s.body, tag)
	if err != nil || a.status >= 500 {
		c.failed(ctx, s, a, err)
		return nil, "", false
	}
	how = a.header.Get("Cache-Status")
	hit := strings.Contains(how, "; hit")
	if a.status == http.StatusNotModified && tag != "" {
		c.count(func(r *Result) { r.Unchanged++; r.Hits += one(hit) })
		return known.rows, how, true
	}
	if seen, err = s.read(a); err != nil {
		c.invalid(s, a, err)
		return nil, "", false
	}
	c.count(func(r *Result) { r.Hits += one(hit) })
	if a.status == http.StatusOK {
		c.memory[what] = remembered{a.header.Get("ETag"), seen}
	}
	return seen, how, true
}

// one returns 1 for true and 0 for false.
func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// read parses a successful answer.
func (s *source) read(a answer) (rows, error) {
	switch {
	case a.status == http.StatusOK:
		return s.rows(a.body)
	case a.status == http.StatusNotFound && (strings.Contains(string(a.body), `"reason":"deleted"`) || strings.Contains(string(a.body), `"reason":"missing"`)):
		return rows{}, nil
	}
	return nil, fmt.Errorf("status %d", a.status)
}

func (c *client) failed(ctx context.Context, s *source, a answer, err error) {
	if ctx.Err() != nil {
		return
	}
	c.count(func(r *Result) {
		if r.Failed++; r.Failed == 1 {
			r.FirstFailed = fmt.Sprintf("%s at %.3f s: %d %.300s %v", s.name, c.now().Seconds(), a.status, a.body, err)
		}
	})
}

func (c *client) invalid(s *source, a answer, err error) {
	c.count(func(r *Result) {
		if r.Invalid++; r.Invalid == 1 {
			r.FirstInvalid = fmt.Sprintf("%s at %.3f s: %d %.300s: %v", s.name, c.now().Seconds(), a.status, a.body, err)
		}
	})
}

// write writes a document through the accelerator or directly to a node, and then reads it.
func (c *client) write(ctx context.Context, key int32) {
	url, past := c.cfg.Through, false
	switch {
	case owned(key) && c.cfg.Other != "":
		c.other.RLock()
		defer c.other.RUnlock()
		if c.away {
			return
		}
		url, past = c.cfg.Other, true
	case !c.cfg.Spread && c.rand.IntN(4) == 0:
		url, past = c.cfg.First, true
	}
	w := &Write{Key: key, N: c.numbers.Add(1), Past: past}
	rev := c.latest[key].get()
	if rev != "" {
		w.Gen = generation(rev) + 1
		w.Delete = !c.cfg.NoDeletes && c.rand.IntN(8) == 0
	}
	c.ledgers[key].Begin(w)
	switch c.put(ctx, url, rev, w) {
	case executed:
		c.document(ctx, key)
		c.results(ctx)
	case refused:
		c.refresh(ctx, url, key)
	}
}

// outcome is the known result of a client's write.
type outcome uint8

const (
	executed outcome = iota
	refused
	unanswered
)

func (c *client) put(ctx context.Context, url, rev string, w *Write) outcome {
	l := &c.ledgers[w.Key]
	a, err := c.putOnce(ctx, url, rev, w)
	var reply struct{ Rev string }
	switch {
	case err == nil && a.status/100 == 2 && json.Unmarshal(a.body, &reply) == nil && generation(reply.Rev) > 0:
		if wrong := l.Acknowledged(w, generation(reply.Rev), c.now()); wrong != "" {
			c.violated("%s", wrong)
		}
		if !w.Past {
			c.own = own{w.Key, w.Gen, w.epoch}
		}
		c.count(func(*Result) { c.acked[docID(w.Key)] = append(c.acked[docID(w.Key)], reply.Rev) })
		if w.Delete {
			reply.Rev = ""
		}
		c.latest[w.Key].set(reply.Rev)
		c.count(func(r *Result) { r.Past += one(w.Past); r.Writes += one(!w.Past) })
		return executed
	case err == nil && a.status/100 == 4:
		if c.cfg.Retried && a.status == http.StatusConflict {
			l.Unanswered(w)
		} else {
			l.Refused(w)
		}
		c.count(func(r *Result) { r.Refused++ })
		return refused
	}
	l.Unanswered(w)
	c.count(func(r *Result) { r.Unanswered++ })
	return unanswered
}

func (c *client) putOnce(ctx context.Context, url, rev string, w *Write) (answer, error) {
	url += "/" + c.cfg.DB + "/" + docID(w.Key)
	if w.Delete {
		return c.send(ctx, "DELETE", url+"?rev="+rev, "", "")
	}
	if rev != "" {
		rev = `,"_rev":"` + rev + `"`
	}
	return c.send(ctx, "PUT", url, fmt.Sprintf(`{"type":"register","n":%d%s}`, w.N, rev), "")
}

// refresh reads a document's revision on the node where it is written.
func (c *client) refresh(ctx context.Context, url string, key int32) {
	a, err := c.send(ctx, "GET", url+"/"+c.cfg.DB+"/"+docID(key), "", "")
	var d document
	switch {
	case err != nil:
	case a.status == http.StatusNotFound:
		c.latest[key].set("")
	case a.status == http.StatusOK && json.Unmarshal(a.body, &d) == nil && generation(d.Rev) > 0:
		c.latest[key].set(d.Rev)
	}
}
