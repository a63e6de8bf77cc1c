package sigv4

import (
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

const (
	scope   = "APPKEY/20261120/ap-northeast-1/dynamodb/aws4_request"
	signed  = "host;x-amz-date;x-amz-target"
	dummy   = "0000000000000000000000000000000000000000000000000000000000000000"
	retired = "http://en.wikipedia.org/wiki/ISO_8601"
)

// TestRefused makes the checks fail in their order: each case passes all checks before its own.
func TestRefused(t *testing.T) {
	v := NewVerifier(region, service, keys)
	f := func(want string, r *http1.Request) {
		t.Helper()
		_, err := v.Verify(r, []byte("{}"), noon)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	post := func(auth string, lines ...string) *http1.Request {
		if auth != "" {
			lines = append(lines, "Authorization: "+auth)
		}
		return head("POST", "/", append(lines, "Host: o", "X-Amz-Target: T")...)
	}
	auth := func(credential, signed string) string {
		return "AWS4-HMAC-SHA256 Credential=" + credential + ", SignedHeaders=" + signed + ", Signature=" + dummy
	}
	const date = "X-Amz-Date: 20261120T120000Z"

	// Two authentications, none.
	f("InvalidSignatureException: Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
		head("POST", "/?X-Amz-Algorithm=a", "Authorization: Basic x"))
	f("MissingAuthenticationTokenException: Request is missing Authentication Token", post(""))
	f("MissingAuthenticationTokenException: Request is missing Authentication Token", post("Basic AWS4-HMAC-SHA256"))

	// Missing parts.
	const needs = "IncompleteSignatureException: Authorization header requires "
	f(needs+"'Credential' parameter. Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. "+
		"Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-", post("AWS4-"))
	f(needs+"'Signature' parameter. Authorization=AWS4-X Credential=a,SignedHeaders=b", post("AWS4-X Credential=a,SignedHeaders=b", date))
	f(needs+"existence of either a 'X-Amz-Date' or a 'Date' header. Authorization="+auth(scope, signed), post(auth(scope, signed)))
	f("IncompleteSignatureException: 'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: 'AWS4-X Credential'.",
		post("AWS4-X Credential", date))
	f(needs+"exactly one 'Signature' parameter. Authorization=AWS4-X Signature=a, Signature=b", post("AWS4-X Signature=a, Signature=b", date))
	const query = "IncompleteSignatureException: AWS query-string parameters must include "
	f(query+"'X-Amz-Credential'. AWS query-string parameters must include 'X-Amz-Signature'. "+
		"AWS query-string parameters must include 'X-Amz-SignedHeaders'. AWS query-string parameters must include 'X-Amz-Date'. "+
		"Re-examine the query-string parameters.", head("POST", "/?X-Amz-Algorithm=a"))
	f(query+"'X-Amz-Date' exactly once. Re-examine the query-string parameters.", head("POST", "/?X-Amz-Algorithm=a&X-Amz-Date=b&X-Amz-Date=b"))

	// The date.
	const got = "IncompleteSignatureException: Date must be in ISO-8601 'basic format'. Got '"
	for _, bad := range []string{"Fri, 20 Nov 2026 12:00:00 GMT", "20261120T120000", "20261120T120000z", "20261320T120000Z", "20260231T120000Z", "20261120T240000Z", "2026112OT120000Z"} {
		f(got+bad+"'. See "+retired, post(auth(scope, signed), "Date: "+bad))
	}
	f("InvalidSignatureException: Signature expired: 20261120T114459Z is now earlier than 20261120T114500Z (20261120T120000Z - 15 min.)",
		post(auth(scope, signed), "X-Amz-Date: 20261120T114459Z"))
	f("InvalidSignatureException: Signature not yet current: 20261120T121501Z is still later than 20261120T121500Z (20261120T120000Z + 15 min.)",
		post(auth(scope, signed), "X-Amz-Date: 20261120T121501Z"))

	// The list of signed headers.
	f("InvalidSignatureException: 'Host' must be a 'SignedHeader' in the AWS Authorization.", post(auth(scope, "x-amz-date;x-amz-target"), date))
	f("InvalidSignatureException: 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.", post(auth(scope, "host;x-amz-date"), date))
	f("InvalidSignatureException: 'X-AMZ-Meta' must be a 'SignedHeader' in the AWS Authorization.", post(auth(scope, signed), date, "X-AMZ-Meta: m"))

	// Algorithm, credential, scope.
	f("IncompleteSignatureException: Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256' (only AWS4-HMAC-SHA256 for now). ",
		post(strings.Replace(auth(scope, signed), "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", 1), date))
	for _, bad := range []string{"a/b/c/d", "a/b/c/d/e/f", "a"} {
		f("IncompleteSignatureException: Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '"+bad+"'",
			post(auth(bad, signed), date))
	}
	f("InvalidSignatureException: Credential should be scoped to a valid region, not 'r'. Credential should be scoped to correct service: 'dynamodb'. "+
		"Credential should be scoped with a valid terminator: 'aws4_request', not 't'. Date in Credential scope does not match YYYYMMDD "+
		"from ISO-8601 version of date from HTTP: '20261121' != '20261120', from '20261120T120000Z'.", post(auth("APPKEY/20261121/r/s/t", signed), date))
	f("InvalidSignatureException: Credential should be scoped to a valid region, not 'us-east-1'. ",
		post(auth("APPKEY/20261120/us-east-1/dynamodb/aws4_request", signed), date))

	// Key and token.
	const unknown = "UnrecognizedClientException: The security token included in the request is invalid."
	f(unknown, post(auth("NOKEY"+scope[6:], signed), date))
	f(unknown, post(auth(scope, "host;x-amz-date;x-amz-security-token;x-amz-target"), date, "X-Amz-Security-Token: t"))

	// Body and signature.
	const hashed = "host;x-amz-content-sha256;x-amz-date;x-amz-target"
	f("InvalidSignatureException: 'X-Amz-Content-Sha256' must be the hash of the body, not 'UNSIGNED-PAYLOAD'.",
		post(auth(scope, hashed), date, "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"))
	f("InvalidSignatureException: 'X-Amz-Content-Sha256' must be the hash of the body, not 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'.",
		post(auth(scope, hashed), date, "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD"))
	f("InvalidSignatureException: The provided 'X-Amz-Content-Sha256' header does not match what was computed.",
		post(auth(scope, hashed), date, "X-Amz-Content-Sha256: "+dummy))
	f(mismatch().Error(), post(auth(scope, signed), date))
	f(mismatch().Error(), post(auth(scope, "x-amz-target;x-amz-date;host"), date))
	f(mismatch().Error(), post(auth(scope, "host;host;x-amz-date;x-amz-target"), date))
	f(mismatch().Error(), post(auth(scope, "Host;host;x-amz-date;x-amz-target"), date))
	f(mismatch().Error(), post(strings.TrimSuffix(auth(scope, signed), dummy)+dummy[:63], date))
}

// TestSkewIsInclusive accepts a signature that is exactly fifteen minutes old or early.
func TestSkewIsInclusive(t *testing.T) {
	f := func(after time.Duration, ok bool) {
		t.Helper()
		c := &claim{date: []byte(noon.Format(dateLayout))}
		if err := checkDate(c, noon.Add(after)); (err == nil) != ok {
			t.Errorf("%s after signing: got %v", after, err)
		}
	}
	f(maxSkew, true)
	f(maxSkew+time.Second-1, true) // dates have a resolution of one second
	f(maxSkew+time.Second, false)
	f(-maxSkew, true)
	f(-maxSkew-1, false)
}

// TestExpires checks that a presigned request's own lifetime shortens the fifteen
// minutes and never lengthens them.
func TestExpires(t *testing.T) {
	f := func(expires string, after time.Duration, want string) {
		t.Helper()
		c := &claim{date: []byte(noon.Format(dateLayout)), expires: []byte(expires)}
		err := checkDate(c, noon.Add(after))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Message, want) {
			t.Errorf("expires %s, %s later: got %v; want %q", expires, after, err, want)
		}
	}
	f("60", time.Minute, "")
	f("60", 61*time.Second, "Signature expired: 20261120T120000Z is now earlier than 20261120T120001Z (20261120T120101Z - 60 sec.)")
	f("604800", 15*time.Minute, "")
	f("604800", 16*time.Minute, "- 15 min.)")
	f("604801", 0, "X-Amz-Expires must be a number of seconds")
	f("-1", 0, "X-Amz-Expires must be a number of seconds")
	f("", 0, "X-Amz-Expires must be a number of seconds")
}

// TestCheckForm checks the form of signatures, as a store that accepts any key does.
func TestCheckForm(t *testing.T) {
	f := func(want string, r *http1.Request) {
		t.Helper()
		got := ""
		if err := CheckForm(r); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const whole = "Authorization: AWS4-HMAC-SHA256 Credential=" + scope + ",SignedHeaders=host,Signature=0"
	f("", head("POST", "/"))
	const date = "X-Amz-Date: 20130301T000000Z"
	f("IncompleteSignatureException: Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization="+
		strings.TrimPrefix(whole, "Authorization: "), head("POST", "/", whole))
	f("", head("POST", "/", whole, date))
	f("", head("POST", "/", "Authorization: AWS4-HMAC-SHA256 Credential=any/1/x/y/z, SignedHeaders=a, Signature=b", date))
	f("", head("POST", "/", "Authorization: AWS4-HMAC-SHA256 Credential=any/1/x/y/z SignedHeaders=a \tSignature=b", date))
	f("", head("POST", "/", "Authorization: AWS4-HMAC-SHA256   Credential=any/1/x/y/z , SignedHeaders=a,,Signature=b ", date))
	f("IncompleteSignatureException: Authorization header requires exactly one 'Signature' parameter. Authorization=AWS4-HMAC-SHA256 Signature=b Signature=c",
		head("POST", "/", "Authorization: AWS4-HMAC-SHA256 Signature=b Signature=c", date))
	f("InvalidSignatureException: Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
		head("POST", "/?X-Amz-Algorithm=a", whole))
	f("MissingAuthenticationTokenException: Request is missing Authentication Token", head("POST", "/", "Authorization: Basic x"))
	f("IncompleteSignatureException: Authorization header requires 'Signature' parameter. Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-X Credential=a,SignedHeaders=b",
		head("POST", "/", "Authorization: AWS4-X Credential=a,SignedHeaders=b"))
	f("IncompleteSignatureException: Date must be in ISO-8601 'basic format'. Got 'today'. See "+retired, head("POST", "/", whole, "X-Amz-Date: today"))
	f("IncompleteSignatureException: Unsupported AWS 'algorithm': 'AWS4-X' (only AWS4-HMAC-SHA256 for now). ",
		head("POST", "/", strings.Replace(whole, "AWS4-HMAC-SHA256", "AWS4-X", 1), date))
	f("IncompleteSignatureException: Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b'",
		head("POST", "/", strings.Replace(whole, scope, "a/b", 1), date))
	f("IncompleteSignatureException: AWS query-string parameters must include 'X-Amz-Date'. Re-examine the query-string parameters.",
		head("POST", "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c"))
}

// TestScope checks the key and the region of signatures that have the right form.
func TestScope(t *testing.T) {
	const date = "X-Amz-Date: 20130301T000000Z"
	f := func(id, region, refusal string, r *http1.Request) {
		t.Helper()
		gotID, gotRegion, err := Scope(r)
		kind := ""
		if err != nil {
			kind = err.Type
		}
		if gotID != id || gotRegion != region || kind != refusal {
			t.Errorf("got %q %q %v; want %q %q %s", gotID, gotRegion, err, id, region, refusal)
		}
	}
	sent := func(credential string) *http1.Request {
		return head("POST", "/", "Authorization: AWS4-HMAC-SHA256 Credential="+credential+", SignedHeaders=host, Signature=0", date)
	}
	f("", "", "", head("POST", "/"))
	f("any", "x", "", sent("any/1/x/y/z"))
	f("", "", "", sent("////"))
	f("fake-Key.1", "fakeRegion", "", sent("fake-Key.1/20130301/fakeRegion/dynamodb/aws4_request"))
	f("a%2Fb", "r", "", sent("a%2Fb/1/r/dynamodb/aws4_request"))
	f("", "", "IncompleteSignatureException", sent("a/b/1/r/dynamodb/aws4_request"))
	f("", "", "IncompleteSignatureException", sent("a"))
	f("", "", "MissingAuthenticationTokenException", head("POST", "/", "Authorization: Basic x"))
	const query = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20130301T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0&X-Amz-Credential="
	f("any", "eu-west-1", "", head("POST", query+"any%2F20130301%2Feu-west-1%2Fdynamodb%2Faws4_request"))
	f("", "", "IncompleteSignatureException", head("POST", query+"any"))
}
