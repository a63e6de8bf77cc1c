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

// raw forwards an operation unchanged.
func (t *task) raw() { t.operate(t.r.target, t.x.Body) }

// rawPost forwards the operation with the full name in the path.
func (t *task) rawPost() {
	name, err := url.PathUnescape(string(t.pathRest))
	if err != nil {
		t.refuse(http.StatusBadRequest, "UnknownOperationException", "The path has an invalid escape")
		return
	}
	t.operate([]byte(name), t.x.Body)
}

// rawTarget forwards the operation in X-Amz-Target.
func (t *task) rawTarget() {
	name := string(t.x.Request.Get(fieldTarget))
	if !strings.Contains(name, ".") {
		name = targetPrefix + name
	}
	t.operate([]byte(name), t.x.Body)
}

// maxTables is the maximum Limit that bbpd forwards from a query.
const maxTables = 99

// listTables reads its options from the body of a POST, which may be empty, or from the
// query of a GET.
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

// listOptions converts a query to the body of a ListTables. Names are case-insensitive; an
// invalid Limit is ignored.
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

// queryArg returns the first argument called name, ignoring case.
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

// appendComma appends a comma except at the beginning of an object or array.
func appendComma(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

// pathTable returns the table name in the path as a JSON string.
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

// The limits of polling a table's status, if the client requests it.
const (
	maxPolls      = 50
	maxStatusPoll = 2 * time.Second
)

// statusTable reports whether a table has a status, and polls for it on request. Polling
// ends with the exchange's budget at the latest.
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

// tableStatus fetches the status of a table. It returns "" if the reply is an error.
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

// callDetached sends a request to the service in a separate exchange, whose reply the caller
// owns. It is safe for concurrent use.
func (t *task) callDetached(ctx context.Context, target, body []byte) *edge.Exchange {
	request := protocolRequest(&t.x.Request, protocolFields(nil, &t.x.Request, target))
	x := edge.Detached(ctx, request, body, time.Now())
	x.Record.RequestID = t.x.Record.RequestID
	t.call(x)
	return x
}

// relay answers with a reply from a separate exchange.
func (t *task) relay(reply *edge.Reply) {
	t.answer(reply.Status, append(t.x.Reply.Buf[:0], reply.Body...))
	t.local()
}
