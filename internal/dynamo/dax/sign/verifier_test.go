package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

const (
	testID     = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	testRegion = "us-west-2"
)

// sign returns the hexadecimal signature of a text, without using the code under test.
func sign(secret, day, region, text string) string {
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, region, "dax", "aws4_request", text} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// signedText returns the text that a client signs at a time for a host.
func signedText(at time.Time, host string) string {
	t := at.UTC().Format(stamp)
	canonical := sha256.Sum256(fmt.Appendf(nil, "POST\n/\n\nhost:%s\nx-amz-date:%s\n\nhost;x-amz-date\n%x", host, t, sha256.Sum256(nil)))
	return fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s/%s/dax/aws4_request\n%x", t, t[:8], testRegion, canonical)
}

type recorded struct {
	ID        string `json:"access_key_id"`
	Signature string `json:"signature"`
	Text      string `json:"string_to_sign"`
	Token     string `json:"session_token"`
	Client    string `json:"client"`
}

func readRecorded(t testing.TB) (all []recorded) {
	b, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 {
		t.Fatalf("%d calls", len(all))
	}
	return all
}

func timeOf(t testing.TB, text string) time.Time {
	at, err := time.Parse(stamp, strings.Split(text, "\n")[1])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestRecorded verifies recorded authorizations. Those with a session token are signed in
// the same way, but are rejected.
func TestRecorded(t *testing.T) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}, {ID: testID, Secret: "no"}})
	for _, r := range readRecorded(t) {
		at := timeOf(t, r.Text)
		if _, err := v.Verify([]byte(r.ID), []byte(r.Signature), []byte(r.Text), r.Token != "", at); (err != nil) != (r.Token != "") {
			t.Errorf("%s with token %q: %v", r.Client, r.Token, err)
		}
		for _, now := range []time.Time{at, at.Add(maxSkew), at.Add(-maxSkew)} {
			if signed, err := v.Verify([]byte(r.ID), []byte(r.Signature), []byte(r.Text), false, now); err != nil || !signed.Equal(at) {
				t.Errorf("%s: %v at %v", r.Client, err, signed)
			}
		}
		for _, now := range []time.Time{at.Add(maxSkew + time.Second), at.Add(-maxSkew - time.Second)} {
			if _, err := v.Verify([]byte(r.ID), []byte(r.Signature), []byte(r.Text), false, now); err == nil || !err.Retryable || !strings.Contains(err.Text, "clock") {
				t.Errorf("%s: %v", r.Client, err)
			}
		}
	}
}

// TestChanged changes each byte of an authorization: it is always rejected.
func TestChanged(t *testing.T) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}})
	r := readRecorded(t)[0]
	now := timeOf(t, r.Text)
	f := func(id, signature, text []byte) {
		t.Helper()
		if _, err := v.Verify(id, signature, text, false, now); err == nil {
			t.Errorf("%q, %q and %q were accepted", id, signature, text)
		}
	}
	for part := range 3 {
		whole := [3][]byte{[]byte(r.ID), []byte(r.Signature), []byte(r.Text)}
		b := whole[part]
		for i := range b {
			for _, c := range []byte{b[i] ^ 1, '\n', 0} {
				old := b[i]
				b[i] = c
				if c != old {
					f(whole[0], whole[1], whole[2])
				}
				b[i] = old
			}
			whole[part] = b[:i]
			f(whole[0], whole[1], whole[2])
			whole[part] = b
		}
		whole[part] = append(b, 'a')
		f(whole[0], whole[1], whole[2])
	}
}

// TestRefusals checks the reasons of refusals.
func TestRefusals(t *testing.T) {
	r := readRecorded(t)[0]
	at := timeOf(t, r.Text)
	resigned := func(text string) string {
		return sign(testSecret, "20261120", testRegion, text)
	}
	f := func(id, signature, text string, token bool, region, want string) {
		t.Helper()
		v := New(region, []sigv4.Key{{ID: testID, Secret: testSecret}})
		_, err := v.Verify([]byte(id), []byte(signature), []byte(text), token, at)
		if err == nil || err.Retryable || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f("AKIDOTHER", r.Signature, r.Text, false, testRegion, `"AKIDOTHER" is not one of this service's`)
	f(strings.Repeat("x", 1<<16), r.Signature, r.Text, false, testRegion, "is not one of")
	f(r.ID, r.Signature, r.Text, true, testRegion, "session token")
	f(r.ID, r.Signature, r.Text, false, "eu-west-1", `region "us-west-2", and this service is in eu-west-1`)
	f(r.ID, strings.Repeat("0", 64), r.Text, false, testRegion, "check the secret")
	f(r.ID, "", r.Text, false, testRegion, "check the secret")
	f(r.ID, r.Signature, strings.Repeat("x", 1<<16), false, testRegion, "65536 bytes")
	f(r.ID, r.Signature, "", false, testRegion, "not one of AWS4-HMAC-SHA256")
	change := func(old, by, want string) {
		t.Helper()
		text := strings.Replace(r.Text, old, by, 1)
		if text == r.Text {
			t.Fatalf("the text doesn't contain %q", old)
		}
		f(r.ID, resigned(text), text, false, testRegion, want)
	}
	change("/dax/", "/dynamodb/", "DAX's")
	change("20261120/", "20261121/", "DAX's")
	change("20261120T", "2026-11-2", "no time")
	change("AWS4-HMAC", "AWS5-HMAC", "not one of")
	change("27c9", "27c8", "another request")
	change("20261120T193955Z", "20261120T193956Z", "another request")
}

// TestClock checks that the difference of the clocks is reported.
func TestClock(t *testing.T) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}})
	now := time.Date(2026, 11, 21, 0, 2, 0, 500e6, time.FixedZone("", 3600))
	f := func(at time.Time, want string) {
		t.Helper()
		text := signedText(at, hosts[1])
		signature := sign(testSecret, at.UTC().Format("20060102"), testRegion, text)
		signed, err := v.Verify([]byte(testID), []byte(signature), []byte(text), false, now)
		switch {
		case want == "" && (err != nil || !signed.Equal(at.Truncate(time.Second))):
			t.Errorf("%v: %v at %v", at, err, signed)
		case want != "" && (err == nil || !err.Retryable || !strings.Contains(err.Text, want)):
			t.Errorf("%v: got %v; want %q", at, err, want)
		}
	}
	f(now, "")
	f(now.Add(-4*time.Minute), "") // the day before, in UTC too
	f(now.Add(5*time.Minute), "")
	f(now.Add(-6*time.Minute), "20261120T225600Z, is 6m1s behind the server's, 20261120T230200Z, and at most 5m0s")
	f(now.Add(5*time.Minute+time.Second), "is 5m1s ahead of the server's")
	f(now.Add(-12*time.Hour), "is 12h0m1s behind")
	f(now.Add(1000*time.Hour), "is 1000h0m0s ahead")
	// A client without the secret gets only the server's time.
	text := signedText(now.Add(time.Hour), hosts[0])
	if _, err := v.Verify([]byte(testID), []byte("none"), []byte(text), false, now); err == nil || !strings.Contains(err.Text, "clock") {
		t.Error(err)
	}
}

// TestAllocs checks that verifying doesn't allocate after a day's key has been derived.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	v := New(testRegion, []sigv4.Key{{ID: "ANOTHER", Secret: "x"}, {ID: testID, Secret: testSecret}})
	for _, r := range readRecorded(t) {
		id, signature, text, now := []byte(r.ID), []byte(r.Signature), []byte(r.Text), timeOf(t, r.Text)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := v.Verify(id, signature, text, false, now); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations, want none", r.Client, n)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}})
	r := readRecorded(b)[0]
	id, signature, text, now := []byte(r.ID), []byte(r.Signature), []byte(r.Text), timeOf(b, r.Text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(id, signature, text, false, now); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	for _, r := range readRecorded(f) {
		f.Add([]byte(r.ID), []byte(r.Signature), []byte(r.Text))
	}
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}})
	f.Fuzz(func(t *testing.T, id, signature, text []byte) {
		signed, err := v.Verify(id, signature, text, false, time.Date(2026, 11, 20, 19, 40, 0, 0, time.UTC))
		if err != nil {
			return
		}
		if sign(testSecret, signed.Format("20060102"), testRegion, string(text)) != string(signature) {
			t.Errorf("a wrong signature of %q was accepted", text)
		}
	})
}
