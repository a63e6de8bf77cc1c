package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Warmer fills the cache of a service ahead of requests. Its methods are safe for concurrent use.
type Warmer interface {
	// Warm fills the entry that a line of a list names, unless it is stored already: in the same
	// way as for a client's request. For a line that names nothing, the error wraps ErrInput;
	// after any other error the entry is not filled.
	Warm(ctx context.Context, entry string) (WarmOutcome, error)
}

// WarmOutcome is the outcome for an entry.
type WarmOutcome string

// The outcomes of entries.
const (
	WarmFilled      WarmOutcome = "filled"      // it was fetched and stored
	WarmPresent     WarmOutcome = "present"     // it was stored already
	WarmUncacheable WarmOutcome = "uncacheable" // the answer can't be stored, or can't be now
	WarmFailed      WarmOutcome = "failed"
	WarmInvalid     WarmOutcome = "invalid" // the line names nothing
)

// WarmRequest has entries to fill, or names another node to take them over from.
type WarmRequest struct {
	Service string `json:"service"`
	// Entries are lines of a list: for a service with tables a table and the key of an item, or
	// an operation and its request; for the others a URL.
	Entries []string `json:"entries,omitempty"`
	// Peer is the name of another node of the cluster, whose hottest answers are taken over: at
	// most Keys, and Rate per second.
	Peer string `json:"peer,omitempty"`
	Keys int    `json:"keys,omitempty"`
	Rate int    `json:"rate,omitempty"`
}

// WarmResult has the result of each entry.
type WarmResult struct {
	Results []WarmedEntry `json:"results"`
}

// WarmedEntry is the result of an entry.
type WarmedEntry struct {
	Outcome WarmOutcome `json:"outcome"`
	Error   string      `json:"error,omitempty"`
}

// WarmProgress is one of the JSON values of the answer to a request with a peer. The last one is
// done, or has an error.
type WarmProgress struct {
	Filled      uint64 `json:"filled"`
	Present     uint64 `json:"present"`     // stored here already
	Absent      uint64 `json:"absent"`      // no longer stored at the peer
	Uncacheable uint64 `json:"uncacheable"` // can't be stored now
	Bytes       uint64 `json:"bytes"`       // of the ones that were filled
	// Part is the part of the peer's list that was read, from 0 to 1.
	Part  float64 `json:"part"`
	Done  bool    `json:"done,omitempty"`
	Error string  `json:"error,omitempty"`
}

const (
	// maxWarmEntries is the maximum number of entries in a request.
	maxWarmEntries = 1000
	// warmAtOnce is the number of entries that are filled at a time.
	warmAtOnce = 16
	// warmTimeout is how long a request takes at most. Entries that are not filled by then have
	// failed.
	warmTimeout = 25 * time.Second
	// warmBeat is the interval in which the progress is sent.
	warmBeat = 200 * time.Millisecond
)

func (s *Server) warm(w http.ResponseWriter, r *http.Request) {
	var req WarmRequest
	if !take(w, r, &req) {
		return
	}
	if s.find(w, req.Service) == nil {
		return
	}
	switch {
	case (req.Peer == "") == (req.Entries == nil):
		fail(w, http.StatusBadRequest, "give entries or a peer")
	case req.Peer != "":
		s.warmFromPeer(w, r, &req)
	case len(req.Entries) > maxWarmEntries:
		fail(w, http.StatusBadRequest, "%d entries are too many: at most %d at a time", len(req.Entries), maxWarmEntries)
	case req.Keys != 0 || req.Rate != 0:
		fail(w, http.StatusBadRequest, "keys and rate are for a peer")
	default:
		s.warmEntries(w, r, &req)
	}
}

// warmEntries fills the entries of a request and answers with their results.
func (s *Server) warmEntries(w http.ResponseWriter, r *http.Request, req *WarmRequest) {
	warmer := s.warmer(req.Service)
	if warmer == nil {
		fail(w, http.StatusBadRequest, "service %s is not up", req.Service)
		return
	}
	answer(w, http.StatusOK, WarmResult{warmAll(r.Context(), warmer, req.Entries)})
}

// warmAll fills entries, some of them at a time, and returns their results.
func warmAll(ctx context.Context, warmer Warmer, entries []string) []WarmedEntry {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	results := make([]WarmedEntry, len(entries))
	var all sync.WaitGroup
	slots := make(chan struct{}, warmAtOnce)
	for i, entry := range entries {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = warmEntry(ctx, warmer, entry)
		})
	}
	all.Wait()
	return results
}

// warmer returns the Warmer of a service, nil if it has none.
func (s *Server) warmer(service string) Warmer {
	for _, m := range s.overview().Services {
		if m.Name() == service {
			return m.Warmer
		}
	}
	return nil
}

// errNotBegun is the error of an entry for which no time was left.
const errNotBegun = "not begun: the other entries took too long"

// warmEntry fills an entry.
func warmEntry(ctx context.Context, warmer Warmer, entry string) (out WarmedEntry) {
	if ctx.Err() != nil {
		return WarmedEntry{WarmFailed, errNotBegun}
	}
	outcome, err := warmer.Warm(ctx, entry)
	if err == nil {
		return WarmedEntry{Outcome: outcome}
	}
	if text, ok := strings.CutPrefix(err.Error(), ErrInput.Error()+": "); ok && errors.Is(err, ErrInput) {
		return WarmedEntry{WarmInvalid, text}
	}
	return WarmedEntry{WarmFailed, err.Error()}
}

// warmFromPeer takes answers over from another node, and sends the progress.
func (s *Server) warmFromPeer(w http.ResponseWriter, r *http.Request, req *WarmRequest) {
	c := s.member(w)
	if c == nil {
		return
	}
	if req.Keys < 1 || req.Rate < 1 {
		fail(w, http.StatusBadRequest, "keys and rate must be positive")
		return
	}
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	var last time.Time
	var p WarmProgress
	send := func() {
		_ = control.SetWriteDeadline(time.Now().Add(time.Minute)) // a later one than the server's
		_ = enc.Encode(p)
		_ = control.Flush()
		last = time.Now()
	}
	err := c.Warm(r.Context(), req, func(now WarmProgress) {
		if p = now; time.Since(last) >= warmBeat {
			send()
		}
	})
	if errors.Is(err, ErrInput) && last.IsZero() {
		s.failed(w, "warm", err)
		return
	}
	if p.Done = err == nil; err != nil {
		p.Error = err.Error()
	}
	send()
	s.log.Info("warmed", "service", req.Service, "node", req.Peer, "filled", p.Filled, "by", r.RemoteAddr, "result", fmt.Sprint(err))
}
