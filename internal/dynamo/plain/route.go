package plain

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
)

const (
	targetPrefix = "DynamoDB_20120810."
	streamPrefix = "DynamoDBStreams_20120810."
	fieldTarget  = "X-Amz-Target"
	// protocolType is the content type of requests in DynamoDB's own protocol.
	protocolType = "application/x-amz-json-1.0"
)

// route is a path and its handler.
type route struct {
	path   string // a prefix if it ends in a slash
	allow  string // the allowed methods, as in Allow
	name   string // in the envelope
	target []byte // target for the service; nil: given by the request
	serve  func(t *task)
}

// The methods of routes, as in Allow.
const (
	readMethods = "GET, HEAD"
	postMethod  = "POST"
	allMethods  = "GET, HEAD, POST"
)

func (r *route) allows(method []byte) bool {
	switch string(method) {
	case http.MethodGet, http.MethodHead:
		return r.allow != postMethod
	case http.MethodPost:
		return r.allow != readMethods
	}
	return false
}

func target(operation string) []byte { return []byte(targetPrefix + operation) }

// bbpdRoutes are the routes that do more than forward an operation.
var bbpdRoutes = []*route{
	{"/Status", readMethods, "Status", nil, (*task).status},
	{"/StatusTable/", readMethods, "DescribeTable", target("DescribeTable"), (*task).statusTable},
	{"/DescribeTable/", readMethods, "DescribeTable", target("DescribeTable"), (*task).describeTable},
	{"/ListTables", allMethods, "ListTables", target("ListTables"), (*task).listTables},
	{"/GetItemJSON", postMethod, "GetItemJSON", target("GetItem"), (*task).getItemJSON},
	{"/PutItemJSON", postMethod, "PutItemJSON", target("PutItem"), (*task).putItemJSON},
	{"/BatchGetItem", postMethod, "BatchGetItem", target("BatchGetItem"), (*task).batchGet},
	{"/BatchGetItemJSON", postMethod, "BatchGetItemJSON", target("BatchGetItem"), (*task).batchGetJSON},
	{"/BatchWriteItem", postMethod, "BatchWriteItem", target("BatchWriteItem"), (*task).batchWrite},
	{"/BatchWriteItemJSON", postMethod, "BatchWriteItemJSON", target("BatchWriteItem"), (*task).batchWriteJSON},
	{"/RawPost/", postMethod, "", nil, (*task).rawPost},
}

// anyTarget serves a compatible request for an operation without a route.
var anyTarget = &route{"/", postMethod, "", nil, (*task).rawTarget}

// routeTable finds routes. It never changes.
type routeTable struct {
	whole      map[string]*route // by path
	prefixes   []*route          // for a path prefix
	operations map[string]*route // of compatible requests, by operation
	paths      []string          // all paths, sorted
}

// newRouteTable returns a table of all routes.
func newRouteTable() *routeTable {
	t := &routeTable{whole: make(map[string]*route), operations: make(map[string]*route)}
	for _, ops := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		prefix := targetPrefix
		if &ops[0] == &wire.StreamOperations[0] {
			prefix = streamPrefix
		}
		for i := range ops {
			name := ops[i].Name
			r := &route{"/" + name, postMethod, prefix + name, []byte(prefix + name), (*task).raw}
			t.operations[name] = r
			if !isDelete(&ops[i]) {
				t.whole[r.path] = r
			}
		}
	}
	for _, r := range bbpdRoutes {
		if strings.HasSuffix(r.path, "/") {
			t.prefixes = append(t.prefixes, r)
			continue
		}
		t.whole[r.path] = r
		if _, ok := t.operations[r.name]; ok {
			t.operations[r.name] = r
		}
	}
	t.paths = slices.Collect(maps.Keys(t.whole))
	for _, r := range t.prefixes {
		t.paths = append(t.paths, r.path)
	}
	t.paths = append(t.paths, "/")
	slices.Sort(t.paths)
	return t
}

// isDelete reports whether an operation deletes more than items. As with bbpd's DeleteTable,
// these operations have no route of their own, so that they aren't called by mistake. They
// are available by /RawPost/ and X-Amz-Target.
func isDelete(op *wire.Operation) bool {
	return op.Access == wire.Admin && strings.HasPrefix(op.Name, "Delete")
}

// find returns the route of a request and the rest of its path after a prefix. It
// returns nil for a request that is forwarded to the service unchanged.
func (t *routeTable) find(r *http1.Request) (found *route, rest []byte) {
	if len(r.Path) == 1 {
		return t.compatible(r), nil
	}
	if found = t.whole[string(r.Path)]; found != nil {
		return found, nil
	}
	for _, p := range t.prefixes {
		if rest, ok := bytes.CutPrefix(r.Path, []byte(p.path)); ok && len(rest) > 0 && bytes.IndexByte(rest, '/') < 0 {
			return p, rest
		}
	}
	return nil, nil
}

// compatible returns the route of a request to "/" that names an operation in bbpd's
// way rather than DynamoDB's: with another content type, without the version, or with bbpd's
// header fields.
func (t *routeTable) compatible(r *http1.Request) *route {
	target := r.Get(fieldTarget)
	if target == nil || string(r.Method) != http.MethodPost {
		return nil
	}
	name, own := bytes.CutPrefix(target, []byte(targetPrefix))
	versioned := own || bytes.IndexByte(target, '.') >= 0
	if versioned && isProtocolType(r.Get("Content-Type")) && r.Get(fieldVerbose) == nil && r.Get(fieldIndent) == nil {
		return nil
	}
	if found := t.operations[string(name)]; found != nil {
		return found
	}
	return anyTarget
}

func isProtocolType(contentType []byte) bool {
	ct, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.EqualFold(bytes.TrimSpace(ct), []byte(protocolType))
}
