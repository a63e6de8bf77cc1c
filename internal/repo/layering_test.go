package repo

import (
	"strings"
	"testing"
)

const module = "github.com/kasoku/kasoku/"

// layer lists the packages of ours that a package may import, and the reason why it may not
// import others.
type layer struct {
	may []string
	why string
}

// layers has a row for every package except those that only run or measure. A new package
// needs a row. Imports point one way: cli, services, the cache and the packages that
// transport requests, telemetry, http1.
var layers = map[string]layer{
	"internal/http1":             {nil, "HTTP/1.1 messages and nothing else: servers and clients share it, so it may depend on neither"},
	"internal/http2":             {[]string{"http1"}, "frames and their meaning: its caller has the connections, the locks and the clock"},
	"internal/telemetry":         {nil, "every package reports to it, so it may depend on none"},
	"internal/telemetry/forward": {[]string{"telemetry", "fluent"}, "one sink of several: packages that report do not depend on the destination"},
	"internal/telemetry/ledger":  {[]string{"telemetry"}, "one sink of several: services report units to it"},
	"internal/telemetry/bytable": {[]string{"telemetry"}, "one sink of several: it depends on no protocol and no service"},
	"internal/telemetry/history": {[]string{"telemetry"}, "figures over time: the caller passes in the function that collects them"},
	"internal/telemetry/hotkeys": {[]string{"telemetry"}, "one sink of several: keys are bytes, which services render"},
	"internal/telemetry/live":    {[]string{"glob", "telemetry"}, "one sink of several: its readers' connections are the caller's"},
	"internal/telemetry/tracing": {[]string{"pause", "telemetry"}, "one sink of several: the caller describes its services"},
	"internal/ascii":             {nil, "functions on bytes, which every package below internal may use"},
	"internal/glob":              {nil, "a function of two strings"},
	"internal/scope":             {nil, "contexts of the standard library alone"},
	"internal/pause":             {nil, "a function of the standard library's types, which every package below internal may use"},
	"internal/lazyregexp":        {nil, "a function of the standard library's types, which every package below internal may use"},
	"internal/jsonp":             {[]string{"http1"}, "JSONP calls around bodies, decided from the headers of a request and an answer: it has no connection and sends nothing"},
	"internal/config":            {[]string{"glob", "jsonp", "memcached/key", "memcached/ring"}, "commands that start no service read the schema; packages interpret their own keys, except memcached's key templates and rings, which config builds to check them"},
	"internal/cache":             {[]string{"inflight"}, "it depends on no protocol and no service, so that coherence is proved once for all services"},
	"internal/cluster": {[]string{"cache", "cluster/protocol", "cluster/view", "cluster/nats", "telemetry"},
		"it runs the protocol for package cache, and depends on no service: services use it through the cache"},
	"internal/cluster/protocol": {nil, "rules as functions of events and the time: no clock, no network, no cache"},
	"internal/cluster/view":     {[]string{"cluster/protocol"}, "an item in a table; the caller passes in the connection to the origin"},
	"internal/cluster/bucket":   {[]string{"cluster/protocol", "cluster/view", "pause"}, "a message in a stream; the caller passes in the connection to NATS"},
	"internal/cluster/nats":     {nil, "bytes between processes, without their meaning"},
	"internal/inflight":         {nil, "it counts the memory of all packages that transport requests, and may depend on none of them"},
	"internal/purge":            {nil, "the description of a purge, which the admin API, services and the store share"},
	"internal/pages":            {nil, "memory and system calls: callers own the bytes"},
	"internal/socket":           {nil, "system calls on one connection, for servers and clients alike"},
	"internal/listener":         {[]string{"socket", "telemetry"}, "connections of any protocol"},
	"internal/systemd":          {[]string{"listener"}, "the protocols of a service manager, without the services: the caller decides when they are ready"},
	"internal/acme":             {[]string{"pause"}, "certificates and answers to challenges: listeners and their connections are the caller's"},
	"internal/edge":             {[]string{"socket", "http1", "http2", "inflight", "listener", "pages", "scope", "telemetry"}, "it passes requests to a handler and depends on no service"},
	"internal/origin":           {[]string{"telemetry", "http1", "scope", "socket"}, "it sends requests to an origin; the service's Classify function interprets them"},
	"internal/httpcache/coding": {nil, "encodings of bytes: callers decide what is encoded and when"},
	"internal/httpcache/store": {[]string{"cache", "http1", "httpcache/coding", "httpcache/disk", "httpcache/policy", "inflight", "jsonp", "pages", "purge"},
		"stored responses and their lookup, purge and persistence: it imports neither client connections nor origin connections"},
	"internal/httpcache/flight": {[]string{"cache", "http1", "httpcache/disk", "httpcache/store", "inflight"},
		"one fetch for many requests; the caller passes in the function that fetches, and decides what is shared"},
	"internal/httpcache": {[]string{"admin", "cache", "edge", "glob", "http1", "httpcache/coding", "httpcache/disk", "httpcache/flight", "httpcache/policy", "httpcache/store", "inflight", "jsonp", "origin", "origin/balance", "pages", "purge", "scope", "telemetry"},
		"the HTTP cache that services for HTTP origins use: it depends on none of them"},
	"internal/httpcache/disk":          {nil, "files with keys, checksums and a size limit: callers interpret the content and its validity"},
	"internal/httpcache/policy":        {[]string{"http1", "telemetry"}, "the RFCs as functions of their arguments: no clock, no store, no connection"},
	"internal/origin/balance":          {[]string{"origin", "telemetry", "http1"}, "it selects an origin; the service decides on the requests"},
	"internal/dynamo/wire":             {nil, "DynamoDB's JSON as text, without its meaning"},
	"internal/dynamo/value":            {[]string{"dynamo/wire"}, "attribute values as trees, without operations on items"},
	"internal/dynamo/expr":             {[]string{"dynamo/wire", "dynamo/value"}, "expressions over items, without a cache, a store or a connection"},
	"internal/dynamo/shape":            {[]string{"dynamo/wire"}, "the API's shapes as data, without the operations"},
	"internal/dynamo/embedded/kv":      {nil, "ordered keys and values as an interface, without tables"},
	"internal/dynamo/embedded/disk":    {[]string{"dynamo/embedded/kv"}, "ordered keys and values on disk, without tables"},
	"internal/dynamo/embedded/memory":  {[]string{"dynamo/embedded/kv"}, "ordered keys and values in memory, without tables"},
	"internal/dynamo/embedded/faults":  {[]string{"glob", "dynamo/wire"}, "decisions about requests: the store injects the faults"},
	"internal/dynamo/embedded/catalog": {[]string{"dynamo/wire", "dynamo/value"}, "tables as data, without their items"},
	"internal/kasokutest":              {[]string{"dynamo/embedded", "dynamo/embedded/faults", "dynamo/embedded/memory", "dynamo/transfer/creation"}, "a store for the tests of other programs, with copies of few packages"},
	"internal/dynamo/local":            {[]string{"http1", "origin", "dynamo/embedded", "dynamo/wire"}, "embedded stores as an origin; the caller opens them"},
	"internal/dynamo/embedded": {[]string{"dynamo/wire", "dynamo/value", "dynamo/expr", "dynamo/shape", "dynamo/partiql",
		"dynamo/embedded/kv", "dynamo/embedded/catalog", "dynamo/embedded/faults"}, "a store inside the process, without the cache, listeners and origins"},
	"internal/dynamo/streams": {[]string{"telemetry"}, "records of a stream in order, without the cache that they invalidate; the caller passes in the function that calls the origin"},
	"internal/dynamo/plain":   {[]string{"edge", "http1", "telemetry", "glob", "jsonp", "dynamo/wire", "dynamo/value"}, "routes in front of a dynamodb service, which it calls as a handler"},
	"internal/dynamo/partiql": {[]string{"dynamo/wire", "dynamo/value", "dynamo/expr"}, "statements as text and as commands, without a cache or a store"},
	"internal/dynamo/sigv4":   {[]string{"http1"}, "signatures of messages; the service checks permissions"},
	"internal/dynamo/transfer": {[]string{"http1", "dynamo/sigv4", "dynamo/value", "dynamo/wire", "dynamo/transfer/anonymise", "dynamo/transfer/creation", "dynamo/transfer/ion"},
		"a client of stores behind HTTP, whichever they are: it imports no service"},
	"internal/dynamo/transfer/anonymise": {[]string{"config", "glob", "dynamo/value"},
		"items in, items out: it has no connection and no files except its rules"},
	"internal/dynamo/transfer/creation": {nil, "requests to create tables, without files and stores"},
	"internal/dynamo/transfer/ion":      {[]string{"dynamo/wire"}, "a format, without the tables that its items belong to"},
	"internal/dynamo/dax": {[]string{"socket", "edge", "http1", "listener", "telemetry", "dynamo/wire", "dynamo/sigv4", "dynamo/accel", "dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/fault",
		"dynamo/dax/item", "dynamo/dax/key", "dynamo/dax/lists", "dynamo/dax/number", "dynamo/dax/sign", "dynamo/dax/tree"},
		"another front end of a dynamodb service, which it calls in DynamoDB's own protocol; the service has the cache"},
	"internal/dynamo/dax/key":    {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/number", "dynamo/wire"}, "keys in two formats, without their tables"},
	"internal/dynamo/dax/number": {[]string{"dynamo/dax/cbor"}, "decimals in several formats"},
	"internal/dynamo/dax/attr":   {[]string{"dynamo/dax/cbor", "dynamo/dax/number", "dynamo/wire"}, "values in two formats"},
	"internal/dynamo/dax/item":   {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/key", "dynamo/wire"}, "items in two formats; the caller numbers lists of names"},
	"internal/dynamo/dax/lists":  {nil, "lists of names and their numbers, on disk, without items"},
	"internal/dynamo/dax/tree":   {[]string{"dynamo/dax/attr", "dynamo/dax/cbor", "dynamo/dax/item", "dynamo/wire"}, "expressions in two formats, without the data"},
	"internal/dynamo/dax/sign":   {[]string{"dynamo/sigv4"}, "authentication by signature; the caller checks permissions"},
	"internal/dynamo/dax/cbor":   {nil, "a format, without the messages in it"},
	"internal/dynamo/dax/fault":  {[]string{"dynamo/dax/cbor", "dynamo/wire"}, "errors as bytes, without their causes"},
	"internal/dynamo/accel": {[]string{"admin", "cache", "edge", "glob", "http1", "origin", "pause", "scope", "telemetry", "telemetry/hotkeys", "telemetry/ledger",
		"dynamo/wire", "dynamo/value", "dynamo/expr", "dynamo/partiql", "dynamo/sigv4", "dynamo/streams"}, "a service imports no other service, and not the commands that start it"},
	"internal/couch": {[]string{"admin", "cache", "edge", "http1", "httpcache", "httpcache/policy", "httpcache/store", "jsonp", "origin", "origin/balance", "purge", "telemetry",
		"couch/api", "couch/auth", "couch/feed", "couch/follow"},
		"the service on top of the HTTP cache; it imports no other service"},
	"internal/couch/api":  {nil, "the CouchDB API as bytes: no connection, no state"},
	"internal/couch/auth": {[]string{"cache", "http1", "couch/api"}, "cached read permissions of databases; the caller passes in the connection"},
	"internal/couch/feed": {[]string{"couch/api", "edge", "http1", "telemetry"}, "live feeds shared by clients; the caller passes in connections and permissions"},
	"internal/couch/follow": {[]string{"cache", "couch/api", "telemetry"},
		"the validity of cached answers, from the nodes' feeds; the caller passes in connections"},
	"internal/memcached/client": {[]string{"socket", "telemetry", "memcached/wire"}, "connections to servers: callers select the server of a key and interpret values"},
	"internal/memcached/wire":   {nil, "memcached's protocol as bytes, without a connection or a clock"},
	"internal/memcached": {[]string{"admin", "cache", "edge", "http1", "httpcache", "httpcache/flight", "httpcache/policy", "httpcache/store", "jsonp", "origin", "origin/balance", "purge", "telemetry",
		"memcached/client", "memcached/key", "memcached/ring", "memcached/value"},
		"the service that combines the packages below it; it uses the HTTP cache and no other service"},
	"internal/memcached/ring":  {nil, "the server of a key, computed from the key alone: callers have connections, names and configuration"},
	"internal/memcached/key":   {[]string{"http1"}, "a request's key in memcached, computed from its header alone"},
	"internal/memcached/value": {nil, "the meaning of a writer's flags, without the server that holds them or the answer"},
	"internal/nginxconf":       {nil, "nginx's grammar, without the meaning of its directives"},
	"internal/nginximport":     {[]string{"nginxconf"}, "a translation of text: the result is checked when it is loaded"},
	"internal/advice":          {[]string{"telemetry"}, "rules as functions of figures and settings: it parses no configuration and asks no service"},
	"internal/admin":           {[]string{"advice", "telemetry", "telemetry/history", "telemetry/ledger", "telemetry/live", "edge", "listener", "purge"}, "it uses services through its own interface, so that a new service needs no change here"},
	"internal/mcp":             {[]string{"admin", "glob", "dynamo/expr", "dynamo/partiql", "dynamo/shape", "dynamo/value", "dynamo/wire"}, "tools over a store and an admin API that the caller passes in: it has no connection except the client's"},
	"internal/top":             {[]string{"admin", "telemetry"}, "screens of figures from admin APIs: the caller passes in the connections and the terminal"},
	"internal/cli":             {[]string{"*"}, ""},
	"internal/repo":            {nil, "rules about the code, not part of it"},
	"fluent":                   {[]string{"fluent/internal/msgpack", "fluent/internal/encode", "fluent/internal/forward", "fluent/internal/spool"}, "programs use it without Kasoku: it imports nothing else of ours"},
	"fluent/internal/msgpack":  {nil, "a format, without the messages in it"},
	"fluent/internal/encode":   {[]string{"fluent/internal/msgpack"}, "values as bytes, without a connection"},
	"fluent/internal/spool":    {nil, "payloads on disk, without their content"},
	"fluent/internal/forward":  {[]string{"fluent/internal/msgpack"}, "a connection to one server; the caller decides what is sent and when"},
	"fluent/internal/race":     {nil, "a constant for tests"},
	"fluent/forwardtest":       {nil, "a receiver that shares no code with the client under test"},
	"cmd/kasoku":               {[]string{"cli"}, "main only calls internal/cli, which tests can import"},
}

// TestLayering checks every import of ours in code outside tests. Tests may import more.
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
			if strings.HasPrefix(s.dir(), "internal/") && (ours == "internal/ascii" || ours == "internal/pause" || ours == "internal/lazyregexp") {
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

// outside reports whether a folder is not part of the product: benchmarks, the other module,
// packages for tests, and programs that generate text or check the repository.
func outside(dir string) bool {
	for _, prefix := range []string{"bench", "integration", "scripts", "internal/testutil", "internal/config/gendoc"} {
		if dir == prefix || strings.HasPrefix(dir, prefix+"/") {
			return true
		}
	}
	return false
}

// banned are packages of others that a package may not use.
var banned = []struct{ dir, path, why string }{
	{"internal/cache", "net", "the core neither listens nor dials"},
	{"internal/cache", "net/http", "the core depends on no protocol"},
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
			if strings.HasPrefix(path, module+"internal/testutil") || path == module+"fluent/forwardtest" || path == module+"fluent/internal/race" {
				t.Errorf("%s imports %s, which is for tests", s.path, path)
			}
		}
	}
}
