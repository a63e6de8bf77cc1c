package plain

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDescribeTable(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(200, `{"Table":{"TableName":"t"}}`)
	f.expect("GET", "/DescribeTable/my.table-1", ``, 200, `{"Table":{"TableName":"t"}}`)
	f.expectRequests(`DescribeTable {"TableName":"my.table-1"}`)
	f.do("GET", "/DescribeTable/arn%3Aaws%3Adynamodb%3Aus-east-1%3A1%3Atable%2Ft", ``)
	f.do("GET", `/DescribeTable/a%22b`, ``)
	f.expectRequests(`DescribeTable {"TableName":"arn:aws:dynamodb:us-east-1:1:table/t"}`, `DescribeTable {"TableName":"a\"b"}`)
	missing := errorBody("ResourceNotFoundException", "Requested resource not found: Table: t not found")
	f.setAnswer(400, missing)
	f.expect("GET", "/DescribeTable/t", ``, 400, missing)
	f.expectRequests(`DescribeTable {"TableName":"t"}`) // no second request to check whether the table is being created
	f.setAnswer(200, `{"Table":{}}`)
	f.do("POST", "/DescribeTable", `{"TableName":"t"}`)
	f.expectRequests(`DescribeTable {"TableName":"t"}`)
}

func TestListTables(t *testing.T) {
	f := newFixture(t)
	requests := func(method, url, body, want string) {
		t.Helper()
		f.expect(method, url, body, 200, `{}`)
		f.expectRequests("ListTables " + want)
	}
	requests("GET", "/ListTables", "", `{}`)
	requests("GET", "/ListTables?Limit=10&ExclusiveStartTableName=a%20b", "", `{"ExclusiveStartTableName":"a b","Limit":10}`)
	requests("GET", "/ListTables?limit=10", "", `{"Limit":10}`)
	requests("GET", "/ListTables?EXCLUSIVESTARTTABLENAME=t&LIMIT=1", "", `{"ExclusiveStartTableName":"t","Limit":1}`)
	requests("GET", "/ListTables?Limit=99", "", `{"Limit":99}`)
	requests("GET", "/ListTables?Limit=100", "", `{"Limit":99}`)
	requests("GET", "/ListTables?Limit=18446744073709551616&x=1", "", `{}`)
	requests("GET", "/ListTables?Limit=x", "", `{}`)
	requests("GET", "/ListTables?Limit=-1", "", `{}`)
	requests("GET", "/ListTables?Limit=0", "", `{}`)
	requests("GET", "/ListTables?Limit=1&limit=2", "", `{"Limit":1}`)
	requests("GET", "/ListTables?Limit", "", `{}`)
	requests("GET", "/ListTables?%zz=1&Limit=%zz&limit=3", "", `{"Limit":3}`)
	requests("GET", "/ListTables", `{"Limit":7}`, `{}`)
	requests("POST", "/ListTables?Limit=5", `{"Limit":7}`, `{"Limit":7}`)
	requests("POST", "/ListTables", "", `{}`)
}

// describeWithStatuses answers DescribeTable with the statuses in turn, then always with the last.
func describeWithStatuses(statuses ...string) func(op, body string) (int, string) {
	return func(op, _ string) (int, string) {
		status := statuses[0]
		if len(statuses) > 1 {
			statuses = statuses[1:]
		}
		if status == "" {
			return 400, errorBody("ResourceNotFoundException", "Requested resource not found: Table: t not found")
		}
		return 200, fmt.Sprintf(`{"Table":{"TableStatus":%q}}`, status)
	}
}

func TestStatusTable(t *testing.T) {
	f := newFixture(t)
	is := func(url, status string, want bool) {
		t.Helper()
		f.svc.reply = describeWithStatuses(status)
		got := f.do("GET", url, "")
		if got.status != 200 || !strings.HasPrefix(got.body, fmt.Sprintf(`{"Name":"DescribeTable","StatusCode":200,"Body":"{\"StatusResult\":%v}","Run":{"Method":"GET"`, want)) {
			t.Errorf("%s with the status %s: got %d %s", url, status, got.status, got.body)
		}
		f.expectRequests(`DescribeTable {"TableName":"t"}`)
	}
	is("/StatusTable/t", "ACTIVE", true)
	is("/StatusTable/t", "CREATING", false)
	is("/StatusTable/t?status=CREATING", "CREATING", true)
	is("/StatusTable/t?status=UPDATING&poll=0", "ACTIVE", false)
	is("/StatusTable/t?poll=1", "ACTIVE", true)
	f.svc.reply = describeWithStatuses("")
	f.expect("GET", "/StatusTable/t?poll=1", "", 400, errorBody("ResourceNotFoundException", "Requested resource not found: Table: t not found"))
}

// One look takes no time; waiting ends with the status, or with the request's time.
func TestStatusTablePolls(t *testing.T) {
	try := func(url string, want bool, minimum, maximum time.Duration, polls int, statuses ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.svc.reply = describeWithStatuses(statuses...)
			start := time.Now()
			got := f.do("GET", url, "")
			took := time.Since(start)
			if !strings.Contains(got.body, fmt.Sprintf(`{\"StatusResult\":%v}`, want)) || took < minimum || took > maximum {
				t.Errorf("%s: got %s after %v", url, got.body, took)
			}
			if n := len(f.svc.take()); polls != 0 && n != polls {
				t.Errorf("%s: got %d polls", url, n)
			}
		})
	}
	try("/StatusTable/t", false, 0, 0, 1, "CREATING")
	try("/StatusTable/t?poll=yes", true, minPoll, 3*minPoll, 3, "CREATING", "CREATING", "ACTIVE")
	try("/StatusTable/t?poll=1", false, 25*time.Second, 30*time.Second-replyReserve, 0, "CREATING")
	try("/StatusTable/t?poll=1&status=DELETING", true, minPoll, minPoll, 2, "ACTIVE", "DELETING")
}

// TestStatusTableClientDisconnects checks that polling stops when the client disconnects.
func TestStatusTableClientDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.svc.reply = describeWithStatuses("CREATING")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		f.doWithContext(ctx, "GET", "/StatusTable/t?poll=1", "")
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("polling took %v", took)
		}
	})
}

// tableInCreation answers operations on a table that is being created until a time.
type tableInCreation struct {
	active  time.Time
	refusal string
	asked   int
}

func (c *tableInCreation) reply(op, body string) (int, string) {
	there := !time.Now().Before(c.active)
	if op == "DescribeTable" {
		status := "CREATING"
		if there {
			status = "ACTIVE"
		}
		return 200, fmt.Sprintf(`{"Table":{"TableStatus":%q}}`, status)
	}
	c.asked++
	if !there {
		return 400, c.refusal
	}
	return 200, `{}`
}

// TestWaitsForCreation checks that an operation on a table that is being created waits for it.
func TestWaitsForCreation(t *testing.T) {
	notFound, inUse := errorBody("ResourceNotFoundException", "Requested resource not found"),
		errorBody("ResourceInUseException", "Attempt to change a resource which is still in use: Table is being created: t")
	try := func(path, body, refusal string, fields ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			c := &tableInCreation{active: time.Now().Add(3 * time.Second), refusal: refusal}
			f.svc.reply = c.reply
			got := f.do("POST", path, body, fields...)
			if late := time.Since(c.active); got.status != 200 || late < 0 || late > maxPoll || len(got.head.Values("Cache-Status")) != 1 {
				t.Errorf("%s: got %d %s, %v after the creation, %v", path, got.status, got.body, late, got.head)
			}
			if c.asked != 2 {
				t.Errorf("%s: the service received %d requests, want 2", path, c.asked)
			}
		})
	}
	table := `{"TableName":"t","Item":{}}`
	try("/PutItemJSON", table, notFound)
	try("/GetItemJSON", table, notFound)
	try("/Query", table, notFound)
	try("/UpdateTable", table, inUse)
	try("/RawPost/DynamoDB_20120810.DeleteTable", table, inUse)
	try("/", table, notFound, "X-Amz-Target", "PutItem")
	try("/BatchGetItemJSON", `{"RequestItems":{"u":{"Keys":[{}]},"t":{"Keys":[{}]}}}`, notFound)
	try("/BatchWriteItem", `{"RequestItems":{"t":[{}]}}`, notFound)
	try("/TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t"}}]}`, notFound)
}

// TestBatchWaitsForCreation checks that each segment of a batch waits.
func TestBatchWaitsForCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		c := &tableInCreation{active: time.Now().Add(3 * time.Second), refusal: errorBody("ResourceNotFoundException", "Requested resource not found")}
		f.svc.reply = c.reply
		f.expect("POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 60, write)+`]}}`, 200, `{"UnprocessedItems":{}}`)
		if c.asked != 6 {
			t.Errorf("the service received %d requests", c.asked)
		}
	})
}

// TestDoesNotWaitForOtherErrors checks that errors of tables that aren't being created are returned
// at once.
func TestDoesNotWaitForOtherErrors(t *testing.T) {
	notFound, inUse := errorBody("ResourceNotFoundException", "x"), errorBody("ResourceInUseException", "x")
	try := func(path, body, refusal string, want int, statuses ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			describe := describeWithStatuses(statuses...)
			asked := 0
			f.svc.reply = func(op, body string) (int, string) {
				if op == "DescribeTable" {
					return describe(op, body)
				}
				asked++
				return 400, refusal
			}
			start := time.Now()
			f.expect("POST", path, body, 400, refusal)
			if took := time.Since(start); took != 0 || asked != want {
				t.Errorf("%s: the service received %d requests in %v", path, asked, took)
			}
		})
	}
	table := `{"TableName":"t","Item":{}}`
	try("/PutItemJSON", table, notFound, 1, "")
	try("/PutItemJSON", table, notFound, 1, "DELETING")
	try("/UpdateTable", table, inUse, 1, "UPDATING")
	try("/CreateTable", table, inUse, 1, "CREATING")
	try("/PutItemJSON", table, errorBody("ValidationException", "x"), 1, "CREATING")
	try("/PutItemJSON", `{"TableName":5}`, notFound, 1, "CREATING")
	try("/ExecuteStatement", `{"Statement":"x"}`, notFound, 1, "CREATING")
	// The table may have become active between the error and the poll: there is one retry.
	try("/PutItemJSON", table, notFound, 2, "ACTIVE")
}

// TestWaitHasTimeout checks that the wait ends with the request's timeout and the service's error.
func TestWaitHasTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		notFound := errorBody("ResourceNotFoundException", "Requested resource not found")
		c := &tableInCreation{active: time.Now().Add(time.Hour), refusal: notFound}
		f.svc.reply = c.reply
		start := time.Now()
		f.expect("POST", "/PutItemJSON", `{"TableName":"t","Item":{}}`, http.StatusBadRequest, notFound)
		if took := time.Since(start); took > 30*time.Second-replyReserve || took < 28*time.Second {
			t.Errorf("the request took %v", took)
		}
	})
}
