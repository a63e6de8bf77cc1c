package dax

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/dax/tree"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
)

// scratch holds the buffers of the operations. They are reused for later requests.
type scratch struct {
	options   options
	keys      key.Schema
	canonical []byte // canonical key of the requested item
	body      []byte // the request in DynamoDB's protocol
	page      pageVersion
	spare     []byte // a form of an item
	words     tree.Placeholders
	batch     cachedBatch
}

// maxPooledBody is the maximum size of buffers that are reused.
const maxPooledBody = 64 << 10

// maxBody limits the length of a request in DynamoDB's protocol. It exceeds DynamoDB's own
// limit. Such a request can be much longer than the client's: DAX items omit their attribute
// names, and each number becomes an object.
const maxBody = attr.MaxText

var errTooLong = attr.ErrTooLong

func checkLength(body []byte) error {
	if len(body) > maxBody {
		return errTooLong
	}
	return nil
}

// release drops references to the request and large buffers.
func (w *scratch) release() {
	w.options.clear()
	w.page = pageVersion{}
	w.words.Reset()
	if cap(w.body) > maxPooledBody {
		w.body = nil
	}
	if cap(w.spare) > maxPooledBody {
		w.spare = nil
	}
}

// requestHead returns the request line and header fields for an operation.
func requestHead(operation string) http1.Request {
	return http1.Request{
		Method: []byte("POST"), Target: []byte("/"), Path: []byte("/"), Host: []byte("localhost"), Minor: 1,
		Fields: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810."+operation, "Content-Type", "application/x-amz-json-1.0"),
	}
}

// findOperation returns an operation that is known to exist.
func findOperation(name string) *wire.Operation {
	op, _ := wire.FindOperation([]byte("DynamoDB_20120810." + name))
	return op
}

// request sends a request to the service on behalf of the client, and calls reply with the
// answer. If either fails, it fails the call.
func (k *call) request(head *http1.Request, body []byte, reply func(answer []byte) error) {
	x, ok := k.roundTrip(head, body)
	if !ok {
		k.fail(fault.FromResponse(x.Reply.Status, x.Reply.Body, requestID(x)))
	} else if err := reply(x.Reply.Body); err != nil {
		k.failResponse(err)
	}
}

// roundTrip sends a request, and reports whether it succeeded.
func (k *call) roundTrip(head *http1.Request, body []byte) (x *edge.Exchange, ok bool) {
	x = edge.Detached(k.ctx(), *head, body, k.now)
	x.Record.Principal = k.line.Principal
	k.client.Serve(x)
	k.hangup = k.hangup || x.Reply.Hangup
	r := &k.line
	r.Decision, r.KeyHash, r.Key = x.Record.Decision, x.Record.KeyHash, x.Record.Key
	if r.Origin == 0 {
		r.Asked = x.Record.Asked
	}
	r.Origin += x.Record.Origin
	r.Shape, r.Saved, r.Reused = x.Record.Shape, r.Saved+x.Record.Saved, r.Reused+x.Record.Reused
	r.Reason, r.Error = x.Record.Reason, x.Record.Error
	return x, x.Reply.Status == http.StatusOK
}

// requestID returns the request ID assigned by DynamoDB.
func requestID(x *edge.Exchange) string {
	const name = "x-amzn-requestid:"
	for line := range bytes.Lines(x.Reply.Head()) {
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return string(bytes.TrimSpace(line[len(name):]))
		}
	}
	return ""
}

// failRequest fails the call because the client's request can't be parsed.
func (k *call) failRequest(err error) {
	k.fail(fault.Invalid("The request could not be read: %v", err))
}

// failResponse fails the call because DynamoDB's response can't be translated.
func (k *call) failResponse(err error) {
	if e := listFault(err); e.Status < http.StatusInternalServerError {
		k.fail(e)
		return
	}
	k.fail(fault.New("InternalServerError", "The answer of DynamoDB could not be translated: %v", err))
}

// failItem fails the call because an item in the request can't be parsed.
func (k *call) failItem(err error) { k.fail(fault.Invalid("The item could not be read: %v", err)) }

func keySchema(s *accel.Schema) key.Schema {
	return key.Schema{Hash: key.Attribute(s.Hash), Range: key.Attribute(s.Range)}
}

// table reads the table name at the beginning of the arguments and looks up its key schema.
// It returns false if it has failed the call.
func (k *call) table(access wire.Access) (table []byte, ok bool) {
	t, ok := k.readTable(0, access)
	k.scratch.keys = t.schema
	return t.name, ok
}

// appendKey appends a Key member with the key object encoded by b.
func appendKey(dst []byte, s *key.Schema, b []byte) ([]byte, error) {
	dst, err := s.AppendJSON(append(dst, `,"Key":{`...), b)
	return append(dst, '}'), err
}

// appendProjection appends the members of a projection, if the option is present, and
// returns its paths.
func (k *call) appendProjection(dst []byte) (_ []byte, paths []item.Path) {
	b, ok := k.scratch.options.bytes(&k.args, optProjection)
	if !ok || k.args.Err() != nil {
		return dst, nil
	}
	dst, paths, err := appendProjection(dst, &k.scratch.words, b)
	if err != nil {
		k.args.Fail("%v", err)
	}
	return dst, paths
}

func appendProjection(dst []byte, w *tree.Placeholders, container []byte) (_ []byte, paths []item.Path, err error) {
	dst, err = appendExpression(dst, "ProjectionExpression", func(dst []byte) ([]byte, error) {
		dst, paths, err = w.Projection(dst, container)
		return dst, err
	})
	return dst, paths, err
}

// appendItem appends an item of a response, whole or projected.
func (k *call) appendItem(dst []byte, s *key.Schema, paths []item.Path, json []byte) ([]byte, error) {
	if paths != nil {
		return item.AppendProjected(dst, paths, json)
	}
	start := len(dst)
	dst, err := item.AppendBytes(dst, k.lists(), s, json)
	return cbor.WrapBytes(dst, start), err
}
