package httpcache

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
)

// arrived returns the exchange of a client's request, whose head has plain line ends.
func arrived(t *testing.T, client, head string) *edge.Exchange {
	t.Helper()
	var r http1.Request
	text := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
	if n, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil || n == 0 {
		t.Fatalf("%q: got n %d, error %v", text, n, err)
	}
	x := edge.Detached(t.Context(), r, nil, time.Unix(0, 0))
	x.Record.RequestID = []byte("r1")
	if client != "" {
		x.Record.Client = netip.MustParseAddrPort(client)
	}
	return x
}

// written returns fields as lines.
func written(fields http1.Fields) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(string(f.Name) + ": " + string(f.Value) + "\n")
	}
	return b.String()
}

func TestForwardedFields(t *testing.T) {
	trust := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f := func(fw Forwarding, client, head, out string) {
		t.Helper()
		x := arrived(t, client, head)
		var h connectionHeader
		if !h.read(x.Request.Fields) {
			t.Fatalf("%q was refused", head)
		}
		var o outgoing
		if got := written(o.build(x, &h, &fw, "kasoku-1")); got != strings.TrimPrefix(out, "\n") {
			t.Fatalf("%s\nis forwarded as\n%s\nwant\n%s", head, got, out)
		}
	}
	none, x, both := Forwarding{}, Forwarding{X: true, Trust: trust}, Forwarding{X: true, Standard: true, Trust: trust}
	const get = "GET /a HTTP/1.1\nHost: shop.example:80\n"

	f(none, "192.0.2.1:5", get+"X-Any: 1\nAccept: a\nAccept: b\nRange: bytes=0-\nEmpty:", `
X-Any: 1
Accept: a
Accept: b
Range: bytes=0-
Empty: 
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	// Hop-by-hop fields are dropped, including the ones that Connection names.
	f(none, "192.0.2.1:5", get+"Connection: close, X-Hop\nconnection: x-other\nX-Hop: 1\nX-Other: 2\nX-Stay: 3\n"+
		"Keep-Alive: 5\nProxy-Connection: x\nTE: gzip\nTrailer: x\nUpgrade: h2c\nProxy-Authorization: y\nHTTP2-Settings: z\nExpect: 100-continue", `
X-Stay: 3
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(none, "192.0.2.1:5", get+"Via: 1.0 front\nX-Request-Id: theirs\nX-Forwarded-For: 1.2.3.4", `
Via: 1.0 front
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(none, "", "OPTIONS /a HTTP/1.0\nMax-Forwards: 7", `
Max-Forwards: 6
X-Request-Id: r1
Via: 1.0 kasoku-1
`)
	// Any client can send these fields, so only a trusted proxy's are extended.
	spoofed := get + "X-Forwarded-For: 1.2.3.4\nX-Forwarded-Host: evil\nX-Forwarded-Proto: https\nForwarded: for=evil"
	f(x, "[::ffff:192.0.2.1]:5", spoofed, `
X-Forwarded-For: 192.0.2.1
X-Forwarded-Host: shop.example
X-Forwarded-Proto: http
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(both, "10.1.1.1:5", spoofed, `
X-Forwarded-For: 1.2.3.4, 10.1.1.1
X-Forwarded-Host: evil
X-Forwarded-Proto: https
Forwarded: for=evil, for=10.1.1.1;host="shop.example";proto=http
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(Forwarding{Standard: true, Trust: trust}, "10.1.1.1:5", get+`Forwarded: host="evil
Forwarded: for=1.2.3.4;host="a\"b"`, `
Forwarded: for=1.2.3.4;host="a\"b", for=10.1.1.1;host="shop.example";proto=http
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	others := get + "x-forwarded-port: 1\nX-Forwarded-Prefix: /evil\nX-REAL-IP: 1.2.3.4\nX-Client-IP: 1.2.3.4\nX-Cluster-Client-IP: 1.2.3.4\n" +
		"True-Client-IP: 1.2.3.4\nX-Host: evil\nX-Original-Host: evil\nX-Original-URL: /admin\nX-Rewrite-URL: /admin\nX-Url-Scheme: https\n" +
		"Front-End-Https: on\nX-Forwarded: x"
	f(none, "192.0.2.1:5", others, `
X-Forwarded: x
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(Forwarding{Trust: trust}, "10.1.1.1:5", others, strings.TrimPrefix(others, get)+"\nX-Request-Id: r1\nVia: 1.1 kasoku-1\n")
	f(x, "192.0.2.1:5", "GET /a HTTP/1.1\nHost: SHOP.example:443", `
X-Forwarded-For: 192.0.2.1
X-Forwarded-Host: shop.example:443
X-Forwarded-Proto: http
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
	f(both, "[2001:db8::1]:5", get+"Accept: x", `
Accept: x
X-Forwarded-For: 2001:db8::1
X-Forwarded-Host: shop.example
X-Forwarded-Proto: http
Forwarded: for="[2001:db8::1]";host="shop.example";proto=http
X-Request-Id: r1
Via: 1.1 kasoku-1
`)
}

func TestRefusedConnectionNames(t *testing.T) {
	f := func(value string, want bool) {
		t.Helper()
		var h connectionHeader
		if got := h.read(http1.FieldsOf("Connection", value)); got != want {
			t.Fatalf("Connection: %s: accepted %v, want %v", value, got, want)
		}
	}
	for _, name := range []string{"Host", "content-length", "Transfer-Encoding", "Authorization", "Cookie", "Cache-Control", "Age",
		"Date", "Range", "If-Match", "if-anything", "X-Forwarded-For", "Via"} {
		f(name, false)
		f("close, "+name, false)
	}
	f("close", true)
	f("keep-alive, Upgrade, , TE", true)
	f(strings.Repeat("X-Hop,", maxNames)+strings.Repeat("close,,", 99), true)
	f(strings.Repeat("X-Hop,", maxNames+1), false)
	f("X-Hop", true)
	f("If-", true)
	f("", true)
}

func TestConnectionHeader(t *testing.T) {
	f := func(upgrade, trailers bool, pairs ...string) {
		t.Helper()
		var h connectionHeader
		if !h.read(http1.FieldsOf(pairs...)) || h.upgrade != upgrade || h.trailers != trailers {
			t.Fatalf("%q: got upgrade %v, trailers %v; want %v, %v", pairs, h.upgrade, h.trailers, upgrade, trailers)
		}
	}
	f(false, false)
	f(true, false, "Upgrade", "websocket", "Connection", "keep-alive, upgrade")
	f(false, false, "Upgrade", "h2c", "Connection", "upgrade")
	f(false, false, "Upgrade", "h2c", "Upgrade", "websocket", "Connection", "upgrade")
	f(false, false, "Upgrade", "websocket, H2C", "Connection", "upgrade")
	f(false, false, "Upgrade", "websocket,HTTP/2.0 ", "Connection", "upgrade")
	f(false, false, "Upgrade", "TLS/1.0", "Connection", "upgrade")
	f(true, false, "Upgrade", "h2cx, httpx", "Connection", "upgrade")
	f(false, false, "Upgrade", "websocket")
	f(false, false, "Connection", "upgrade")
	f(false, true, "TE", "gzip;q=0.5, Trailers")
	f(false, false, "TE", "gzip")
}

func TestLoops(t *testing.T) {
	f := func(value string, want bool) {
		t.Helper()
		if got := isLoop(http1.FieldsOf("Via", "1.1 other", "via", value), "kasoku-1"); got != want {
			t.Fatalf("Via: %s: loop %v, want %v", value, got, want)
		}
	}
	f("1.1 kasoku-1", true)
	f("1.0 a, 1.1 kasoku-1 (comment), 2 b", true)
	f("1.1 kasoku-1,1.1 b", true)
	f("1.1 kasoku-12", false)
	f("1.1 akasoku-1", false)
	f("kasoku-1", false)
	f("", false)
}

// Via has the origin's version of HTTP, whether the answer is stored or not.
func TestViaVersion(t *testing.T) {
	s := newSite(t, func(a *asked) {
		version := a.head[strings.Index(a.head, "/")+1:][:3]
		a.respond("HTTP/" + version + " 200 OK\nCache-Control: max-age=60\nContent-Length: 5\n\nhello")
	})
	for _, version := range []string{"1.0", "1.1"} {
		for _, line := range []string{"GET /", "GET /", "HEAD /", "PUT /"} {
			if g := s.ask(line + version); g.status != 200 || g.get("Via") != version+" kasoku" {
				t.Errorf("%s%s: got %d with Via %q, want %s kasoku", line, version, g.status, g.get("Via"), version)
			}
		}
	}
}
