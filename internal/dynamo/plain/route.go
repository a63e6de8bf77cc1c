package plain

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
)

const (
	targetPrefix = "DynamoDB_20120810."
	streamPrefix = "DynamoDBStreams_20120810."
	fieldTarget  = "X-Amz-Target"
	// protocolType is the content type by which a request says that it speaks
	// DynamoDB's own protocol, to the letter.
	protocolType = "application/x-amz-json-1.0"
)

// route is a path and what answers it.
type route struct {
	path   string // a prefix if it ends in a slash
	allow  string // the methods that it takes, as Allow has them
	name   string // in the envelope
	target []byte // what the service is asked for; nil: the request says it
	serve  func(t *task)
}

// Methods of routes.
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

// bbpdRoutes are the routes that are more than their operation.
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

// anyTarget answers a compatible request for an operation without a route.
var anyTarget = &route{"/", postMethod, "", nil, (*task).rawTarget}

// routes holds the routes with a whole path, prefixes those with the beginning of
// one, operations those that a compatible request may name.
var routes, prefixes, operations = buildRoutes()

func buildRoutes() (whole map[string]*route, begun []*route, named map[string]*route) {
	whole, named = make(map[string]*route), make(map[string]*route)
	for _, ops := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		prefix := targetPrefix
		if &ops[0] == &wire.StreamOperations[0] {
			prefix = streamPrefix
		}
		for i := range ops {
			name := ops[i].Name
			r := &route{"/" + name, postMethod, prefix + name, []byte(prefix + name), (*task).raw}
			named[name] = r
			if !isDelete(&ops[i]) {
				whole[r.path] = r
			}
		}
	}
	for _, r := range bbpdRoutes {
		if strings.HasSuffix(r.path, "/") {
			begun = append(begun, r)
			continue
		}
		whole[r.path] = r
		if _, ok := named[r.name]; ok {
			named[r.name] = r
		}
	}
	return whole, begun, named
}

// isDelete tells whether an operation throws away more than items. Like bbpd's
// DeleteTable such have no route of their own, where a slip of the hand reaches them;
// /RawPost/ and X-Amz-Target do them.
func isDelete(op *wire.Operation) bool {
	return op.Access == wire.Admin && strings.HasPrefix(op.Name, "Delete")
}

// findRoute returns the route of a request, and what follows a prefix of its path; nil
// for what is the service's own business.
func findRoute(r *http1.Request) (found *route, rest []byte) {
	if len(r.Path) == 1 {
		return compatibleRoute(r), nil
	}
	if found = routes[string(r.Path)]; found != nil {
		return found, nil
	}
	for _, p := range prefixes {
		if rest, ok := bytes.CutPrefix(r.Path, []byte(p.path)); ok && len(rest) > 0 && bytes.IndexByte(rest, '/') < 0 {
			return p, rest
		}
	}
	return nil, nil
}

// compatibleRoute returns the route of a request to "/" that names an operation in a way
// that is bbpd's rather than DynamoDB's: as another type of content, without its
// version, or with header fields of bbpd's own.
func compatibleRoute(r *http1.Request) *route {
	asked := r.Get(fieldTarget)
	if asked == nil || string(r.Method) != http.MethodPost {
		return nil
	}
	name, own := bytes.CutPrefix(asked, []byte(targetPrefix))
	versioned := own || bytes.IndexByte(asked, '.') >= 0
	if versioned && isProtocolType(r.Get("Content-Type")) && r.Get(fieldVerbose) == nil && r.Get(fieldIndent) == nil {
		return nil
	}
	if found := operations[string(name)]; found != nil {
		return found
	}
	return anyTarget
}

func isProtocolType(contentType []byte) bool {
	ct, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.EqualFold(bytes.TrimSpace(ct), []byte(protocolType))
}
