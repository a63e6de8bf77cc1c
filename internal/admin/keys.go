package admin

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KeyOrders are the numbers by which keys are ordered.
var KeyOrders = []string{"requests", "misses", "bytes", "invalidations"}

// maxKeys is the maximum number of keys of a table in an order.
const maxKeys = 50

// KeysJSON has the keys with the highest counts of each table. Without the token that shows keys,
// Shown is false and the keys have only their hashes.
type KeysJSON struct {
	Shown  bool        `json:"shown"`
	Tables []TableKeys `json:"tables"`
}

// TableKeys are the keys of a table with the highest counts, and its requests that the origin has
// throttled.
type TableKeys struct {
	Service string    `json:"service"`
	Table   string    `json:"table,omitempty"` // "" for services without tables
	Since   time.Time `json:"since"`           // the beginning of the time that is counted
	Totals  KeyTotals `json:"totals"`
	// Top has the keys by "requests", "misses", "bytes" and "invalidations", the highest counts
	// first.
	Top       map[string][]KeyCount `json:"top"`
	Throttles []KeyThrottle         `json:"throttles,omitempty"`
}

// KeyTotals are the sums of all keys of a table.
type KeyTotals struct {
	Requests      uint64 `json:"requests"`
	Misses        uint64 `json:"misses"` // reads that were not served from memory
	Bytes         uint64 `json:"bytes"`
	Invalidations uint64 `json:"invalidations"`
}

// KeyCount is a key with its estimated count, which is at most Error too high or too low.
type KeyCount struct {
	Key   string `json:"key,omitempty"`
	Hash  string `json:"hash"` // the field key of the access log
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

// KeyThrottle counts requests for a key or a partition that the origin has throttled for a reason.
type KeyThrottle struct {
	Reason    string    `json:"reason"`
	Resource  string    `json:"resource,omitempty"`
	Partition string    `json:"partition,omitempty"`
	Key       string    `json:"key,omitempty"`
	Hash      string    `json:"hash,omitempty"`
	Count     uint64    `json:"count"`
	Recent    uint64    `json:"recent"` // in the last 5 minutes
	Last      time.Time `json:"last"`
	Advice    string    `json:"advice,omitempty"`
}

// ThrottledTable is a table with requests that the origin has throttled in the last 5 minutes.
type ThrottledTable struct {
	Table  string    `json:"table"`
	Recent uint64    `json:"recent"`
	Reason string    `json:"reason"` // the most frequent one
	Last   time.Time `json:"last"`
}

// hotKeys answers with the keys that the query selects.
func (s *Server) hotKeys(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	service, table, by, since := q.Get("service"), q.Get("table"), q.Get("by"), q.Get("since")
	n := maxKeys
	if text := q.Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n <= 0 || n > maxKeys {
			fail(w, http.StatusBadRequest, "n is a number of keys up to %d, not %q", maxKeys, text)
			return
		}
	}
	if by != "" && !slices.Contains(KeyOrders, by) {
		fail(w, http.StatusBadRequest, "by is one of %s, not %q", strings.Join(KeyOrders, ", "), by)
		return
	}
	if since != "" && since != "start" {
		fail(w, http.StatusBadRequest, "since is start, or left out for the last 5 to 10 minutes, not %q", since)
		return
	}
	if service != "" && s.find(w, service) == nil {
		return
	}
	out := KeysJSON{Shown: s.showsKeys(r), Tables: []TableKeys{}}
	for _, t := range s.keys(since == "") {
		if service != "" && t.Service != service || table != "" && t.Table != table {
			continue
		}
		t.reduce(by, n)
		if !out.Shown {
			t.hide()
		}
		out.Tables = append(out.Tables, t)
	}
	answer(w, http.StatusOK, out)
}

// reduce keeps only the first n keys, in one order if by is not "".
func (t *TableKeys) reduce(by string, n int) {
	for order, list := range t.Top {
		if by != "" && order != by {
			delete(t.Top, order)
			continue
		}
		t.Top[order] = list[:min(len(list), n)]
	}
}

// hide removes all keys.
func (t *TableKeys) hide() {
	for _, list := range t.Top {
		for i := range list {
			list[i].Key = ""
		}
	}
	for i := range t.Throttles {
		t.Throttles[i].Key, t.Throttles[i].Partition = "", ""
	}
}

// throttledTables adds a row for each table with throttled requests.
func throttledTables(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Throttled) > 0 }) {
		return
	}
	table(b, "THROTTLED\tSERVICE\tIN 5 MIN\tLAST\tMOST FREQUENT REASON", services, func(s *ServiceJSON) string {
		var rows []string
		for _, t := range s.Throttled {
			rows = append(rows, join(t.Table, s.Name, count(t.Recent), t.Last.UTC().Format(time.DateTime), t.Reason))
		}
		return strings.Join(rows, "\n")
	})
}
