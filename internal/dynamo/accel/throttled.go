package accel

import (
	"bytes"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
)

const canceledType = "TransactionCanceledException"

// throttledActions are the codes of actions that cancel a transaction because they are throttled.
var throttledActions = map[string]bool{
	"ThrottlingError":               true,
	"ProvisionedThroughputExceeded": true,
}

// refused counts an answer of the origin that throttles, by the key of the request. It is called for
// each attempt.
func (s *Service) refused(r *origin.Request, resp *origin.Response) {
	if s.keys == nil {
		return
	}
	typ := string(wire.ErrorType(resp.Body))
	if typ == canceledType {
		s.canceled(r.Body, resp.Body)
		return
	}
	if !throttles[typ] {
		return
	}
	table, key := s.requestKey(r)
	counted := false
	it := wire.Array(throttlingReasons(resp.Body))
	for it.Next() {
		if reason := textMember(it.Value(), "reason"); reason != "" {
			s.throttled(table, key, reason, textMember(it.Value(), "resource"))
			counted = true
		}
	}
	if !counted {
		s.throttled(table, key, typ, "")
	}
}

// refusedLocally is refused for an origin in this process, which repeats no request. resp may be nil.
func (s *Service) refusedLocally(r *origin.Request, resp *origin.Response) {
	if resp != nil && resp.Class == origin.Refused {
		s.refused(r, resp)
	}
}

// throttlingReasons returns the reasons in an error, whose name has a capital letter except in a
// ThrottlingException.
func throttlingReasons(body []byte) []byte {
	for _, name := range []string{"ThrottlingReasons", "throttlingReasons"} {
		if list, ok := wire.Lookup(body, name); ok && wire.Kind(list) == '[' {
			return list
		}
	}
	return nil
}

// textMember returns the text of a member, "" if it has none.
func textMember(obj []byte, name string) string {
	v, ok := wire.Lookup(obj, name)
	if !ok || wire.Kind(v) != '"' {
		return ""
	}
	text, _ := wire.AppendString(nil, v)
	return string(text)
}

// throttled counts a reason. The table of the resource has priority, because a request may have
// several.
func (s *Service) throttled(table string, key []byte, reason, resource string) {
	if of := tableOf([]byte(resource)); resource != "" && len(of) > 0 && string(of) != table {
		table, key = string(of), nil
	}
	t := hotkeys.Throttle{Service: s.name, Table: table, Reason: reason, Resource: resource, Key: key}
	if key != nil {
		t.Hash = keyHash(keySeed(table), key)
	}
	s.keys.Throttled(&t)
}

// canceled counts the throttled actions of a transaction.
func (s *Service) canceled(request, answer []byte) {
	reasons, _ := wire.Lookup(answer, "CancellationReasons")
	actions, _ := wire.Lookup(request, "TransactItems")
	if wire.Kind(reasons) != '[' {
		return
	}
	action := wire.Array(actions)
	if wire.Kind(actions) != '[' {
		action = wire.Array([]byte("[]")) // of statements
	}
	it := wire.Array(reasons)
	for it.Next() {
		more := action.Next()
		code := textMember(it.Value(), "Code")
		if !throttledActions[code] {
			continue
		}
		table, key := "", []byte(nil)
		if more {
			table, key = s.actionKey(action.Value())
		}
		s.throttled(table, key, code, "")
	}
}

// actionKey returns the table of an action of a transaction, and the key of its item or nil.
func (s *Service) actionKey(action []byte) (table string, key []byte) {
	it := wire.Object(action)
	for it.Next() {
		if wire.Kind(it.Value()) == '{' {
			return s.itemRequestKey(it.Value())
		}
	}
	return "", nil
}

// requestKey returns the table of a request, and the key of its item or partition or nil. Both are
// empty for a request with several, for one in CBOR, and for one without a table.
func (s *Service) requestKey(r *origin.Request) (table string, key []byte) {
	if wire.Kind(bytes.TrimLeft(r.Body, " \t\r\n")) != '{' {
		return "", nil
	}
	if op, _ := wire.FindOperation(r.Header.Get("X-Amz-Target")); op.Kind == wire.Query {
		return s.queryRequestKey(op, r.Body)
	}
	return s.itemRequestKey(r.Body)
}

// itemRequestKey returns the table in a request with a Key or an Item, and its key or nil.
func (s *Service) itemRequestKey(request []byte) (table string, key []byte) {
	table = string(tableOf([]byte(textMember(request, "TableName"))))
	t := s.peek([]byte(table))
	if t == nil || !t.known {
		return table, nil
	}
	id, ok := itemKey{}, false
	if obj, there := wire.Lookup(request, "Key"); there && wire.Kind(obj) == '{' {
		id, ok = t.keyOf(obj)
	} else if obj, there := wire.Lookup(request, "Item"); there && wire.Kind(obj) == '{' {
		id, ok = t.keyOfItem(obj)
	}
	if !ok {
		return table, nil
	}
	return table, t.cacheKey(id)
}

// queryRequestKey returns the table in a Query, and the key of its partition or nil.
func (s *Service) queryRequestKey(op *wire.Operation, request []byte) (table string, key []byte) {
	table = string(tableOf([]byte(textMember(request, "TableName"))))
	t := s.peek([]byte(table))
	if t == nil {
		return table, nil
	}
	c := Client{svc: s}.pageCall(op, time.Now())
	if _, ok := c.members(request, queryMembers); ok && c.partitionKey(&view{t: t}) {
		key = bytes.Clone(c.key)
	}
	c.free()
	return table, key
}
