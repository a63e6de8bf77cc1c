package couch

import (
	"testing"

	"github.com/kasoku/kasoku/internal/origin/balance"
)

func TestHealthCheck(t *testing.T) {
	f := func(target string, status int, body, other string, well bool) {
		t.Helper()
		got, err := healthJudge{}.Judge(target, status, []byte(body))
		if got != other || (err == nil) != well {
			t.Errorf("%s, %d %s: got %q, %v; want %q, %t", target, status, body, got, err, other, well)
		}
	}
	f("/_up", 200, `{"status":"ok","seeds":{}}`, "", true)
	f("/_up", 404, `{"status":"maintenance_mode"}`, "", false)
	f("/_up", 404, `{"status":"nolb"}`, "", false)
	f("/_up", 404, `{"error":"not_found","reason":"missing"}`, "/", true)
	f("/_up", 404, `Cannot GET /_up`, "/", true)
	f("/_up", 400, `{"error":"illegal_database_name"}`, "/", true)
	f("/_up", 401, `{"error":"unauthorized"}`, "", true)
	f("/_up", 500, `{"error":"internal_server_error"}`, "", false)
	f("/_up", 503, ``, "", false)
	f("/", 200, `{"couchdb":"Welcome","version":"1.6.1"}`, "", true)
	f("/", 200, `{"express-pouchdb":"Welcome!","version":"4.2.0"}`, "", true)
	f("/", 200, `<html>It works!</html>`, "", false)
	f("/", 401, `{"error":"unauthorized"}`, "", true)
	f("/", 404, `{"error":"not_found"}`, "", false)
	f("/", 502, ``, "", false)
}

func TestWatchHealth(t *testing.T) {
	own := balance.Config{Check: balance.Check{Path: "/", Status: 200}, Ejection: balance.Ejection{Statuses: []int{500}}}
	setHealthChecks(&own)
	if own.Check.Judge != nil || own.Check.Path != "/" || len(own.Ejection.Statuses) != 1 {
		t.Errorf("got %+v", own)
	}
	var none balance.Config
	setHealthChecks(&none)
	if none.Check.Path != "/_up" || none.Check.Judge == nil || len(none.Ejection.Statuses) != 3 {
		t.Errorf("got %+v", none)
	}
}
