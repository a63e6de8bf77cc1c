package repo

import (
	"strings"
	"testing"
)

const module = "github.com/kasoku/kasoku/"

// layer says what a package of ours may import of ours; everything else is
// forbidden, for the reason given.
type layer struct {
	may []string
	why string
}

// layers holds a row for every package but those that only run or measure: a
// new package needs a row here, and with it a thought about where it belongs.
// Imports point one way: cli, services, the cache and what carries requests,
// telemetry, http1.
var layers = map[string]layer{
	"internal/http1":             {nil, "HTTP/1.1 messages and nothing else: it must stay usable in both directions by whoever needs it"},
	"internal/telemetry":         {nil, "everything reports to it, so it can depend on nothing"},
	"internal/telemetry/forward": {[]string{"telemetry", "fluent"}, "a sink among others; nothing that reports knows where records go"},
	"internal/ascii":             {nil, "functions of bytes, which every package below internal may use"},
	"internal/glob":              {nil, "a function of two texts"},
	"internal/jsonp":             {[]string{"http1"}, "a call around a body, decided from a request's and an answer's head: it has no connection and sends nothing"},
	"internal/config":            {[]string{"glob", "jsonp", "memcached/key", "memcached/ring"}, "the schema is read by commands that start no service; what a key means is known where it is used, but for memcached's keys and rings, which it makes to check them"},
	"internal/cache":             {[]string{"inflight"}, "it knows no protocol and no sibling, so that every service's coherence is proved once"},
	"internal/inflight":          {nil, "it counts what everything that carries requests takes, and can depend on none of it"},
	"internal/pages":             {nil, "memory and system calls: whose bytes these are is known above"},
	"internal/socket":            {nil, "system calls on one connection, for servers and clients alike"},
	"internal/listener":          {[]string{"socket", "telemetry"}, "connections, whatever protocol is spoken on them"},
	"internal/edge":              {[]string{"socket", "http1", "inflight", "listener", "pages", "telemetry"}, "it carries requests to a handler and knows no service"},
	"internal/origin":            {[]string{"telemetry", "http1"}, "it carries requests to an origin; what they mean is told by the service's Classify"},
	"internal/httpcache/coding":  {nil, "bytes in other bytes: what is encoded when is known above"},
	"internal/httpcache/store": {[]string{"cache", "http1", "httpcache/coding", "httpcache/disk", "httpcache/policy", "inflight", "jsonp", "pages"},
		"stored responses, found, purged and kept on disk: it imports neither the connection of a client nor that of an origin"},
	"internal/httpcache/flight": {[]string{"cache", "http1", "httpcache/disk", "httpcache/store", "inflight"},
		"one fetch for many requests; the caller passes in how an origin is asked, and decides what is shared"},
	"internal/httpcache": {[]string{"admin", "cache", "edge", "http1", "httpcache/coding", "httpcache/disk", "httpcache/flight", "httpcache/policy", "httpcache/store", "inflight", "jsonp", "origin", "origin/balance", "pages", "telemetry"},
		"the HTTP cache that the services for HTTP origins stand on: it knows none of them"},
	"internal/httpcache/disk":          {nil, "files with keys, checksums and a bound: what is in them, and when it is right, is known above"},
	"internal/httpcache/policy":        {[]string{"http1", "telemetry"}, "the RFCs as functions of what they are given: no clock, no store, no connection"},
	"internal/origin/balance":          {[]string{"origin", "telemetry", "http1"}, "it chooses among origins; what is asked of them is the service's matter"},
	"internal/dynamo/wire":             {nil, "DynamoDB's JSON as text, without its use"},
	"internal/dynamo/value":            {[]string{"dynamo/wire"}, "attribute values as trees, without operations on items"},
	"internal/dynamo/expr":             {[]string{"dynamo/wire", "dynamo/value"}, "expressions over items, without a cache, a store or a connection"},
	"internal/dynamo/shape":            {[]string{"dynamo/wire"}, "the API's shapes as data, without the operations"},
	"internal/dynamo/embedded/disk":    {nil, "ordered keys and values on disk, without tables"},
	"internal/dynamo/embedded/catalog": {[]string{"dynamo/wire", "dynamo/value"}, "tables as data, without their items"},
	"internal/dynamo/embedded": {[]string{"http1", "origin", "dynamo/wire", "dynamo/value", "dynamo/expr", "dynamo/shape", "dynamo/partiql",
		"dynamo/embedded/disk", "dynamo/embedded/catalog"}, "an origin inside the process, without the cache and listeners"},
	"internal/dynamo/plain":   {[]string{"edge", "http1", "telemetry", "glob", "jsonp", "dynamo/wire", "dynamo/value"}, "routes in front of a dynamodb service, which it uses as a handler"},
	"internal/dynamo/partiql": {[]string{"dynamo/wire", "dynamo/value", "dynamo/expr"}, "statements as text and as commands, without a cache or a store"},
	"internal/dynamo/sigv4":   {[]string{"http1"}, "signatures of messages; permissions are the service's"},
	"internal/dynamo/dax": {[]string{"socket", "edge", "http1", "listener", "telemetry", "dynamo/wire", "dynamo/sigv4", "dynamo/accel", "dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/fault",
		"dynamo/dax/item", "dynamo/dax/key", "dynamo/dax/lists", "dynamo/dax/number", "dynamo/dax/sign", "dynamo/dax/tree"},
		"another front of a dynamodb service, which it calls in DynamoDB's own protocol; the cache is there"},
	"internal/dynamo/dax/key":    {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/number", "dynamo/wire"}, "keys in two formats, without their tables"},
	"internal/dynamo/dax/number": {[]string{"dynamo/dax/cbor"}, "decimals in several formats"},
	"internal/dynamo/dax/attr":   {[]string{"dynamo/dax/cbor", "dynamo/dax/number", "dynamo/wire"}, "values in two formats"},
	"internal/dynamo/dax/item":   {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/key", "dynamo/wire"}, "items in two formats; lists of names are numbered by its caller"},
	"internal/dynamo/dax/lists":  {nil, "lists of names and their numbers, on disk, without items"},
	"internal/dynamo/dax/tree":   {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/item", "dynamo/wire"}, "expressions in two formats, without the data"},
	"internal/dynamo/dax/sign":   {[]string{"dynamo/sigv4"}, "authentication by signature; permissions are the caller's"},
	"internal/dynamo/dax/cbor":   {nil, "a format, without the messages in it"},
	"internal/dynamo/dax/fault":  {[]string{"dynamo/dax/cbor", "dynamo/wire"}, "errors as bytes, without their causes"},
	"internal/dynamo/accel": {[]string{"admin", "cache", "edge", "glob", "http1", "origin", "telemetry",
		"dynamo/wire", "dynamo/expr", "dynamo/partiql", "dynamo/sigv4"}, "a service imports no other service, and not the commands that start it"},
	"internal/couch": {[]string{"admin", "cache", "edge", "http1", "httpcache", "httpcache/policy", "jsonp", "origin", "origin/balance", "telemetry",
		"couch/api", "couch/auth", "couch/feed", "couch/follow"},
		"the service on the HTTP cache's engine; it imports no other service"},
	"internal/couch/api":  {nil, "the CouchDB API as bytes: no connection, no state"},
	"internal/couch/auth": {[]string{"cache", "http1", "couch/api"}, "who may read a database; the caller passes in the connection"},
	"internal/couch/feed": {[]string{"couch/api", "edge", "http1", "telemetry"}, "live feeds shared by clients; the caller passes in connections and permissions"},
	"internal/couch/follow": {[]string{"cache", "couch/api", "telemetry"},
		"which cached answers are valid, from the nodes' feeds; the caller passes in connections"},
	"internal/memcached/client": {[]string{"socket", "telemetry", "memcached/wire"}, "connections to servers: which server has a key, and what a value means, is known above"},
	"internal/memcached/wire":   {nil, "memcached's protocol as bytes, without a connection or a clock"},
	"internal/memcached": {[]string{"admin", "cache", "edge", "http1", "httpcache", "httpcache/flight", "httpcache/policy", "httpcache/store", "jsonp", "origin", "origin/balance", "telemetry",
		"memcached/client", "memcached/key", "memcached/ring", "memcached/value"},
		"the service that joins what is below it; it stands on the HTTP engine and not on a service beside it"},
	"internal/memcached/ring":  {nil, "which server has a key, told from the key alone: connections, names and configuration are known above"},
	"internal/memcached/key":   {[]string{"http1"}, "what a request is called in memcached, told from its head alone"},
	"internal/memcached/value": {nil, "what a writer's flags mean, without the server they come from or what is sent"},
	"internal/nginxconf":       {nil, "nginx's grammar, without what its directives mean"},
	"internal/nginximport":     {[]string{"nginxconf"}, "one text made of another: whether it is a configuration is checked by who reads it"},
	"internal/admin":           {[]string{"telemetry", "edge", "listener"}, "it sees services through its own interface, so that a new one needs no change here"},
	"internal/cli":             {[]string{"*"}, ""},
	"internal/repo":            {nil, "rules about the code, not part of it"},
	"fluent":                   {[]string{"fluent/internal/msgpack", "fluent/internal/encode", "fluent/internal/forward", "fluent/internal/spool"}, "others use it without Kasoku: it imports nothing else of ours"},
	"fluent/internal/msgpack":  {nil, "a format, without what is said in it"},
	"fluent/internal/encode":   {[]string{"fluent/internal/msgpack"}, "values as bytes, without who sends them"},
	"fluent/internal/spool":    {nil, "payloads on disk, without what is in them"},
	"fluent/internal/forward":  {[]string{"fluent/internal/msgpack"}, "a connection to one server; what is sent when is the sender's matter"},
	"cmd/kasoku":               {[]string{"cli"}, "main only calls internal/cli, which tests can import"},
}

// TestLayering checks every import of ours in code that is not a test; tests
// may reach for more, but not for what stands above the package they test.
func TestLayering(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || outside(s.dir()) {
			continue
		}
		l, ok := layers[s.dir()]
		if !ok {
			t.Errorf("%s: there is no row for %s in layers", s.path, s.dir())
			continue
		}
		for _, path := range s.imports() {
			ours, found := strings.CutPrefix(path, module)
			if !found || ours == s.dir() {
				continue
			}
			if strings.HasPrefix(s.dir(), "internal/") && ours == "internal/ascii" {
				continue
			}
			if !l.allows(strings.TrimPrefix(ours, "internal/")) {
				t.Errorf("%s imports %s. %s may not: %s", s.path, ours, s.dir(), l.why)
			}
		}
	}
}

func (l layer) allows(path string) bool {
	for _, may := range l.may {
		if may == "*" || path == may {
			return true
		}
	}
	return false
}

// outside tells whether a folder is no part of the product: the measurements,
// the other module, helpers for tests, and programs that generate text.
func outside(dir string) bool {
	for _, prefix := range []string{"bench", "integration", "internal/testutil", "internal/config/gendoc"} {
		if dir == prefix || strings.HasPrefix(dir, prefix+"/") {
			return true
		}
	}
	return false
}

// banned are packages of others that a package may not use.
var banned = []struct{ dir, path, why string }{
	{"internal/cache", "net", "the core neither listens nor dials"},
	{"internal/cache", "net/http", "the core knows no protocol"},
	{"internal/dynamo/wire", "net/http", "text, not messages"},
	{"internal/dynamo/wire", "reflect", "scanned as text on the hot path, never turned into trees of objects"},
	{"internal/dynamo/expr", "net/http", "text, not messages"},
	{"internal/config", "net/http", "reading a file starts nothing"},
}

func TestBannedImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, path := range s.imports() {
			for _, b := range banned {
				if s.dir() == b.dir && path == b.path {
					t.Errorf("%s imports %s, which %s may not: %s", s.path, path, b.dir, b.why)
				}
			}
			if strings.HasPrefix(path, "github.com/stretchr/") {
				t.Errorf("%s imports %s: tests are plain Go", s.path, path)
			}
			if strings.HasPrefix(path, module+"internal/testutil") {
				t.Errorf("%s imports %s, which is for tests", s.path, path)
			}
		}
	}
}
