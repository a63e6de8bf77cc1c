package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/kasoku/kasoku/internal/purge"
)

// PurgeRequest selects the entries to drop: everything of the service, or the selection by
// one of the other members. Table, Partition and Key are for services with tables, the
// others for services with URLs.
type PurgeRequest struct {
	Service string `json:"service"`
	// Table is the name of a table; with a partition or a key, only that.
	Table string `json:"table,omitempty"`
	// Partition is the value of a partition key: text, which is parsed as the key's type in
	// the table's schema, or an attribute value such as {"N":"42"}.
	Partition json.RawMessage `json:"partition,omitempty"`
	// Key is an item's key, as in a GetItem request; for a service of type memcached a text,
	// in the form that the application uses.
	Key json.RawMessage `json:"key,omitempty"`
	// Selector is sent as one of the members of [purge.Members], and as none to select
	// everything.
	Selector purge.Selector `json:"-"`
	// Soft marks the entries as stale instead of dropping them: they are fetched again on
	// the next request, and still served if the origin fails.
	Soft bool `json:"soft,omitempty"`
}

// ByTable reports whether the request has members for tables.
func (r *PurgeRequest) ByTable() bool { return r.Table != "" || r.Partition != nil || r.Key != nil }

// ByURL reports whether the request has members for URLs.
func (r *PurgeRequest) ByURL() bool { return r.Selector.Kind != purge.All || r.Soft }

// MarshalJSON implements json.Marshaler.
func (r PurgeRequest) MarshalJSON() ([]byte, error) {
	type plain PurgeRequest // without this method
	body := struct {
		plain
		purge.Members
	}{plain: plain(r)}
	if r.Selector.Kind != purge.All {
		text, err := json.Marshal(r.Selector.Text)
		if err != nil {
			return nil, err
		}
		*body.Of(r.Selector.Kind) = text
	}
	return json.Marshal(body)
}

// PurgeResult describes the dropped selection. Entries are not counted: a purge takes the
// same time however many there are.
type PurgeResult struct {
	Dropped string `json:"dropped"` // "everything of table orders"
	Tags    int    `json:"tags"`    // generations moved
	// Nodes are the members of the cluster that have dropped the selection, in order of
	// their names. It is empty without a cluster.
	Nodes []string `json:"nodes,omitempty"`
	// Away are nodes that left the cluster lately, or were taken out because they did not
	// answer. Each drops all entries before it serves again.
	Away []string `json:"away,omitempty"`
}

func (s *Server) purge(w http.ResponseWriter, r *http.Request) {
	var body purgeBody
	if !take(w, r, &body) {
		return
	}
	req, err := body.request()
	if err != nil {
		fail(w, http.StatusBadRequest, "%v", err)
		return
	}
	svc := s.find(w, req.Service)
	if svc == nil {
		return
	}
	result, err := s.purgeAll(r.Context(), svc, req)
	if incomplete, ok := errors.AsType[*incompleteError](err); ok {
		s.log.Warn("a purge is not complete", "service", req.Service, "error", err, "by", r.RemoteAddr)
		fail(w, http.StatusServiceUnavailable, "%v", incomplete)
		return
	}
	if err != nil {
		s.failed(w, "purge", err)
		return
	}
	log := s.log
	if len(result.Nodes) > 0 {
		log = log.With("nodes", result.Nodes, "away", result.Away)
	}
	log.Info("purged", "service", req.Service, "dropped", result.Dropped, "by", r.RemoteAddr)
	answer(w, http.StatusOK, result)
}

// purgeAll purges a service on all nodes of the cluster, if there is one, and returns their
// names with the result.
func (s *Server) purgeAll(ctx context.Context, svc Service, req PurgeRequest) (PurgeResult, error) {
	c := s.overview().Cluster
	if c == nil {
		return svc.Purge(ctx, req)
	}
	before := c.Status()
	result, err := svc.Purge(ctx, req)
	after := c.Status()
	switch {
	case err != nil && c.Unreached(err):
		return PurgeResult{}, &incompleteError{after.Node, err.Error()}
	case err != nil:
		return PurgeResult{}, err
	}
	// A service may have purged without the others, with isolated_writes: pass.
	for _, st := range []ClusterStatus{before, after} {
		if why := st.trouble(); why != "" {
			return PurgeResult{}, &incompleteError{after.Node, "the node was " + why}
		}
	}
	after.purged(&result)
	return result, nil
}

// incompleteError is the error of a purge that other nodes may not have carried out.
type incompleteError struct{ node, why string }

func (e *incompleteError) Error() string {
	return fmt.Sprintf("only node %s has certainly dropped the selection, others may not have: %s; repeat the purge, at another node if this one is not ready", e.node, e.why)
}

// purgeBody is a [PurgeRequest] as sent. A member that is present but empty, for example
// from a script with an unset variable, must not mean the whole service.
type purgeBody struct {
	PurgeRequest
	Table json.RawMessage `json:"table"`
	purge.Members
}

func (b *purgeBody) request() (PurgeRequest, error) {
	r := b.PurgeRequest
	named := 0
	if b.Table != nil {
		text, err := nonEmpty("table", b.Table)
		if err != nil {
			return r, err
		}
		r.Table = text
		named++
	}
	for _, kind := range purge.Kinds() {
		sent := *b.Of(kind)
		if sent == nil {
			continue
		}
		text, err := nonEmpty(kind.String(), sent)
		if err != nil {
			return r, err
		}
		r.Selector = purge.By(kind, text)
		named++
	}
	switch {
	case named > 1:
		return r, errors.New("give one of table, " + purge.List("", " and "))
	case len(r.Partition) > 0 && len(r.Key) > 0:
		return r, errors.New("give a partition or a key, not both")
	case r.Table == "" && (len(r.Partition) > 0 || len(r.Key) > 0 && r.Key[0] != '"'): // a text may be a memcached key
		return r, errors.New("a partition or a key needs the table that it is in")
	}
	return r, nil
}

// nonEmpty returns the text of a member, which must not be empty.
func nonEmpty(name string, sent json.RawMessage) (text string, err error) {
	if err := json.Unmarshal(sent, &text); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if text == "" {
		return "", fmt.Errorf("%s is empty; leave it out to drop everything of the service", name)
	}
	return text, nil
}
