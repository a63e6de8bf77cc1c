package plain

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// getItemJSON serves a GetItem with a plain item.
func (t *task) getItemJSON() {
	t.operate(t.r.target, t.x.Body)
	if t.x.Reply.Status != http.StatusOK {
		return
	}
	b, ok := t.conv.appendGetItem(t.x.Reply.Buf[:0], t.detachBody())
	if !ok {
		t.badReply()
		return
	}
	t.answer(http.StatusOK, b)
}

// appendGetItem appends the reply to a GetItem with a plain item, {} if the item doesn't
// exist. Other members are copied unchanged.
func (c *converter) appendGetItem(dst, b []byte) (out []byte, ok bool) {
	i := wire.SkipSpace(b, 0)
	if at(b, i) != '{' {
		return dst, false
	}
	dst = append(dst, '{')
	found := false
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != '}' {
		if at(b, i) == ',' {
			dst = append(dst, ',')
			i = wire.SkipSpace(b, i+1)
		}
		name, next, _ := wire.ReadString(b, i)
		if next < 0 {
			return dst, false
		}
		dst = append(append(dst, b[i:next]...), ':')
		if i = wire.SkipSpace(b, next); at(b, i) != ':' {
			return dst, false
		}
		i = wire.SkipSpace(b, i+1)
		if string(name) == "Item" {
			found = true
			dst, i = c.plainObject(dst, b, i)
		} else {
			dst, i = verbatim(dst, b, i)
		}
		if i < 0 {
			return dst, false
		}
		i = wire.SkipSpace(b, i)
	}
	if !found {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, `"Item":{}`...)
	}
	return append(dst, '}'), true
}

// badReply answers with an error for a service reply without DynamoDB's format.
func (t *task) badReply() {
	t.x.Reply.Remove("Cache-Status", "x-amzn-RequestId")
	t.refuse(http.StatusInternalServerError, "InternalServerError", "The origin's answer has a form that DynamoDB's does not have")
}

// maxBody is DynamoDB's limit for a request's size. It applies to converted requests.
const maxBody = 16 << 20

// putItemJSON serves a PutItem of a plain item. The reply is DynamoDB's own.
func (t *task) putItemJSON() {
	if !t.checkJSON() {
		return
	}
	body := t.x.Body
	t.conv.lists = t.listsIn(body)
	t.body = rewrite(t.body[:0], body, &t.conv, (*converter).typedObject, "Item")
	if t.tooLarge(t.body) {
		return
	}
	t.operate(t.r.target, t.body)
}

// checkJSON reports whether the body is valid JSON. If not, it has answered with an error.
func (t *task) checkJSON() bool {
	if wire.Valid(t.x.Body, wire.MaxDepth) {
		return true
	}
	t.refuse(http.StatusBadRequest, "SerializationException", "The request's body is not JSON, or it nests too deep")
	return false
}

// tooLarge reports whether a converted request exceeds DynamoDB's limit. If so, it has
// answered with an error.
func (t *task) tooLarge(body []byte) bool {
	if !t.conv.tooLarge && len(body) <= maxBody {
		return false
	}
	t.refuse(http.StatusRequestEntityTooLarge, "ValidationException", "The request has more than 16 MiB with its items as attribute values")
	return true
}

// listsIn reports whether arrays are kept as lists for the table that a request names.
func (t *task) listsIn(body []byte) bool {
	name, _ := wire.Lookup(body, "TableName")
	return t.cfg.lists(t.tableName(name))
}

// tableName decodes a table's name. For an ARN it returns the last part.
func (t *task) tableName(quoted []byte) []byte {
	t.name, _ = wire.AppendExact(t.name[:0], quoted)
	if bytes.HasPrefix(t.name, []byte("arn:")) {
		return t.name[bytes.LastIndexByte(t.name, '/')+1:]
	}
	return t.name
}

// rewrite appends the object obj with the object at path converted. If that is missing or
// not an object, it is copied unchanged for the service to reject.
func rewrite(dst, obj []byte, c *converter, f translate, path ...string) []byte {
	done := 0 // obj[:done] has been appended
	it := wire.Object(obj)
	for it.Next() {
		v := it.Value()
		if wire.Kind(v) != '{' || !wire.NameIs(it.Name(), path[0]) {
			continue
		}
		dst = append(dst, obj[done:it.Start()]...)
		done = it.End()
		if len(path) > 1 {
			dst = rewrite(dst, v, c, f, path[1:]...)
			continue
		}
		mark, next := len(dst), 0
		if dst, next = f(c, dst, v, 0); next < 0 {
			dst = append(dst[:mark], v...)
		}
	}
	return append(dst, obj[done:]...)
}
