package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
)

// historyLine is the command about the history in docs/observability.md.
var historyLine = regexp.MustCompile(`(?m)^    curl -s 'http://127\.0\.0\.1:9090(/api/v1/history\S+)'$`)

// past sends the documented request for the history of a service.
func (r *running) past(query string) (h admin.HistoryJSON) {
	r.t.Helper()
	resp, err := http.Get("http://" + r.AdminAddr().String() + query)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s, %v", query, resp.StatusCode, text, err)
	}
	return h
}

// TestHistoryInDocs sends the documented request, for services with and without tables.
func TestHistoryInDocs(t *testing.T) {
	line := historyLine.FindStringSubmatch(pages(t)["observability.md"])
	if line == nil {
		t.Fatal("there is no such command")
	}
	r := run(t, head+orders+`  site: {type: http, listen: 127.0.0.1:0, origins: ["%s"], default_ttl: 1m}`+"\n"+
		`  away: {type: http, listen: 127.0.0.1:0, origins: ["http://127.0.0.1:9"]}`+"\n")
	for range 4 {
		r.fetch("site", "/a")
		r.get("orders")
	}
	r.fetch("away", "/a")
	for _, service := range []string{"site", "orders", "away"} {
		r.settle(service)
	}
	site := r.past(line[1])
	if site.Total.Hits+site.Total.Misses+site.Total.Other != 4 || site.LatencySeconds == nil || site.OriginSeconds == nil || site.Total.Errors != 0 {
		t.Errorf("site: %+v", site.Total)
	}
	of := func(service string) admin.HistoryJSON { return r.past("/api/v1/history?since=24h&service=" + service) }
	if h := of("orders"); h.Total.Hits != 3 || h.Total.Misses != 1 || *h.Total.HitRatio != 0.75 || h.LatencySeconds == nil || h.OriginSeconds == nil {
		t.Errorf("orders: %+v", h.Total)
	}
	if h := of("away"); h.Total.Errors != 1 || h.OriginSeconds != nil {
		t.Errorf("away: %+v", h.Total)
	}
}
