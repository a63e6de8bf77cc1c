package plain

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// raw answers an operation as the service does.
func (t *task) raw() { t.operate(t.r.target, t.x.Body) }

// rawPost answers the operation that the path names in full.
func (t *task) rawPost() {
	name, err := url.PathUnescape(string(t.pathRest))
	if err != nil {
		t.refuse(http.StatusBadRequest, "UnknownOperationException", "The path holds an escape that is none")
		return
	}
	t.operate([]byte(name), t.x.Body)
}

// rawTarget answers the operation that X-Amz-Target names.
func (t *task) rawTarget() {
	asked := string(t.x.Request.Get(fieldTarget))
	if !strings.Contains(asked, ".") {
		asked = targetPrefix + asked
	}
	t.operate([]byte(asked), t.x.Body)
}

// maxTables is the largest Limit that bbpd passes on from a query.
const maxTables = 99

// listTables takes its options from the body of a POST, which may be empty, or from
// the query of a GET.
func (t *task) listTables() {
	body := t.x.Body
	if len(body) == 0 {
		body = []byte(`{}`)
	}
	if string(t.x.Request.Method) != http.MethodPost {
		body = listOptions(string(t.x.Request.RawQuery))
	}
	t.operate(t.r.target, body)
}

// listOptions makes a ListTables of a query. Names count in any case; a Limit that
// is none is left out.
func listOptions(query string) []byte {
	b := []byte{'{'}
	if start := queryArg(query, "ExclusiveStartTableName"); start != "" {
		b = wire.AppendQuoted(append(b, `"ExclusiveStartTableName":`...), []byte(start))
	}
	if n, err := strconv.ParseUint(queryArg(query, "Limit"), 10, 64); err == nil && n > 0 {
		b = strconv.AppendUint(append(appendComma(b), `"Limit":`...), min(n, maxTables), 10)
	}
	return append(b, '}')
}

// queryArg returns the first argument of a name in any case.
func queryArg(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || !strings.EqualFold(key, name) {
			continue
		}
		if value, err := url.QueryUnescape(value); err == nil {
			return value
		}
	}
	return ""
}

// appendComma appends a comma unless an object or array has just begun.
func appendComma(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

// pathTable is the table that the path names, as a JSON string.
func (t *task) pathTable() []byte {
	name, err := url.PathUnescape(string(t.pathRest))
	if err != nil {
		name = string(t.pathRest)
	}
	return wire.AppendQuoted(nil, []byte(name))
}

func describeBody(quoted []byte) []byte {
	return append(append([]byte(`{"TableName":`), quoted...), '}')
}

func (t *task) describeTable() { t.operate(t.r.target, describeBody(t.pathTable())) }

// Polls of a table's status, if the client wants to wait for it.
const (
	maxPolls      = 50
	maxStatusPoll = 2 * time.Second
)

// statusTable tells whether a table has a status, waiting for it if asked to. The
// wait ends with the exchange's time at the latest.
func (t *task) statusTable() {
	query, _ := url.ParseQuery(string(t.x.Request.RawQuery))
	want, polls := "ACTIVE", 1
	if query.Has("status") {
		want = query.Get("status")
	}
	if poll := query.Get("poll"); poll == "1" || poll == "yes" {
		polls = maxPolls
	}
	table, p := t.pathTable(), t.retryBudget()
	pause := minPoll
	for {
		status, reply := t.tableStatus(p.ctx, table)
		if reply.Status != http.StatusOK {
			t.relay(reply)
			return
		}
		polls--
		if status == want || polls == 0 || !p.sleep(pause) {
			t.statusResult(status == want)
			return
		}
		pause = min(2*pause, maxStatusPoll)
	}
}

// statusResult answers in the envelope, always, as bbpd does.
func (t *task) statusResult(is bool) {
	t.answer(http.StatusOK, strconv.AppendBool(append(t.x.Reply.Buf[:0], `{"StatusResult":`...), is))
	t.x.Reply.Build(append(t.x.Reply.Body, '}'))
	t.verbose = true
	t.local()
}

// tableStatus asks for the status of a table; it is empty where reply is an error.
func (t *task) tableStatus(ctx context.Context, quoted []byte) (status string, reply *edge.Reply) {
	x := t.callDetached(ctx, target("DescribeTable"), describeBody(quoted))
	if x.Reply.Status != http.StatusOK {
		return "", &x.Reply
	}
	table, _ := wire.Lookup(x.Reply.Body, "Table")
	v, _ := wire.Lookup(table, "TableStatus")
	text, _ := wire.AppendString(nil, v)
	return string(text), &x.Reply
}

// callDetached asks the service in an exchange of its own, whose reply is the caller's
// to keep. It may be called by several goroutines at once.
func (t *task) callDetached(ctx context.Context, target, body []byte) *edge.Exchange {
	request := protocolRequest(&t.x.Request, protocolFields(nil, &t.x.Request, target))
	x := edge.Detached(ctx, request, body, time.Now())
	x.Record.RequestID = t.x.Record.RequestID
	t.call(x)
	return x
}

// relay gives the client an answer of the service's that was asked for apart.
func (t *task) relay(reply *edge.Reply) {
	t.answer(reply.Status, append(t.x.Reply.Buf[:0], reply.Body...))
	t.local()
}
