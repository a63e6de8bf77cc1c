package sign

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
)

const (
	testID     = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	testRegion = "us-west-2"
)

type recorded struct {
	ID        string `json:"access_key_id"`
	Signature string `json:"signature"`
	Text      string `json:"string_to_sign"`
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
	if len(all) < 5 {
		t.Fatalf("only %d calls", len(all))
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

// TestRecorded checks what clients have sent.
func TestRecorded(t *testing.T) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}, {ID: testID, Secret: "no"}})
	for _, r := range readRecorded(t) {
		at := timeOf(t, r.Text)
		for _, now := range []time.Time{at, at.Add(skew), at.Add(-skew)} {
			if signed, err := v.Verify([]byte(r.ID), []byte(r.Signature), []byte(r.Text), false, now); err != nil || !signed.Equal(at) {
				t.Errorf("%s: %v at %v", r.Client, err, signed)
			}
		}
		for _, now := range []time.Time{at.Add(skew + time.Second), at.Add(-skew - time.Second)} {
			if _, err := v.Verify([]byte(r.ID), []byte(r.Signature), []byte(r.Text), false, now); err == nil || !err.Again || !strings.Contains(err.Text, "clock") {
				t.Errorf("%s: %v", r.Client, err)
			}
		}
	}
}

// TestChanged changes each byte of what is sent: nothing of it is right any more.
func TestChanged(t *testing.T) {
	v := New(testRegion, []sigv4.Key{{ID: testID, Secret: testSecret}})
	r := readRecorded(t)[0]
	now := timeOf(t, r.Text)
	f := func(id, signature, text []byte) {
		t.Helper()
		if _, err := v.Verify(id, signature, text, false, now); err == nil {
			t.Errorf("%q, %q and %q are right", id, signature, text)
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

// TestRefusals says what is wrong.
func TestRefusals(t *testing.T) {
	r := readRecorded(t)[0]
	at := timeOf(t, r.Text)
	resigned := func(text string) string {
		return string(sign(testSecret, []byte("20261120"), testRegion, []byte(text)))
	}
	f := func(id, signature, text string, token bool, region, want string) {
		t.Helper()
		v := New(region, []sigv4.Key{{ID: testID, Secret: testSecret}})
		_, err := v.Verify([]byte(id), []byte(signature), []byte(text), token, at)
		if err == nil || err.Again || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
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
			t.Fatalf("no %q", old)
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
		if string(sign(testSecret, []byte(signed.Format("20060102")), testRegion, text)) != string(signature) {
			t.Errorf("%q was not signed so", text)
		}
	})
}
