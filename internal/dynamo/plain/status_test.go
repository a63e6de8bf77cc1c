package plain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func (f *fixture) status() statusPage {
	f.t.Helper()
	got := f.do("GET", "/Status", "")
	var page statusPage
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != 200 {
		f.t.Fatalf("got %d %s: %v", got.status, got.body, err)
	}
	return page
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		took := time.Duration(0)
		f.svc.reply = func(op, body string) (int, string) {
			time.Sleep(took)
			if body == "bad" {
				return 400, `{}`
			}
			return 200, `{}`
		}
		time.Sleep(90 * time.Second)
		page := f.status()
		first := page.Summary
		if page.Status != "ready" || first.ResponseCount != "0" || first.LastResponse != "no requests made yet" || first.AverageResponse != "0.00ms" ||
			first.LongestResponse != "0.00ms" || first.RunningTime != "1m30s" || !strings.HasPrefix(first.StartTime, "2000-01-01 00:00:00 ") {
			t.Errorf("got the page %+v", page)
		}
		took = 30 * time.Millisecond
		f.do("POST", "/GetItem", `{}`)
		took = 10 * time.Millisecond
		f.do("POST", "/GetItemJSON", `{}`)
		f.do("POST", "/GetItem", `bad`)
		f.do("GET", "/GetItem", ``)
		time.Sleep(time.Second)
		// Requests for the status are counted, errors are not.
		got := f.status().Summary
		if got.ResponseCount != "3" || got.LongestResponse != "30.00ms" || got.AverageResponse != "13.33ms" || !strings.HasSuffix(got.LastResponse, ", (1.05s ago)") &&
			!strings.HasSuffix(got.LastResponse, ", (1.01s ago)") {
			t.Errorf("got %+v", got)
		}
		if page.Args["X-Bbpd-Indent"] == "" || page.Args["X-Bbpd-Verbose"] == "" || len(page.Args) != 2 {
			t.Errorf("got the arguments %v", page.Args)
		}
	})
}

// TestAvailableHandlers checks that the page lists all routes, including bbpd's own.
func TestAvailableHandlers(t *testing.T) {
	page := newFixture(t).status()
	for _, path := range []string{"/", "/BatchGetItem", "/BatchGetItemJSON", "/BatchWriteItem", "/BatchWriteItemJSON", "/CreateTable", "/DeleteItem", "/DescribeTable",
		"/DescribeTable/", "/GetItem", "/GetItemJSON", "/ListTables", "/PutItem", "/PutItemJSON", "/Query", "/RawPost/", "/Scan", "/Status", "/StatusTable/",
		"/TransactWriteItems", "/UpdateItem", "/UpdateTable"} {
		if !slices.Contains(page.AvailableHandlers, path) {
			t.Errorf("%s is not listed", path)
		}
	}
	if slices.Contains(page.AvailableHandlers, "/DeleteTable") || !slices.IsSorted(page.AvailableHandlers) {
		t.Errorf("got the handlers %v", page.AvailableHandlers)
	}
}
