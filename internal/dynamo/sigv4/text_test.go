package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// textSignature signs a text as in RFC 2104 and AWS's documentation, without this package.
func textSignature(secret, day, text string) string {
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, region, service, "aws4_request", text} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// TestVerifyText alternates between keys and days, so that derived keys evict each other.
func TestVerifyText(t *testing.T) {
	v := NewVerifier(region, service, append(keys, Key{"APPKEY", "another"}, Key{"LONG", strings.Repeat("k", 100)}))
	secrets := map[string]string{"OTHER": "other", "APPKEY": "s3cr3t", "LONG": strings.Repeat("k", 100)}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"OTHER", "APPKEY", "LONG"}).Draw(t, "id")
		day := rapid.SampledFrom([]string{"20261120", "20261121", "20261122", "20270101"}).Draw(t, "day")
		text := rapid.StringN(0, 300, 600).Draw(t, "text")
		key, ok := v.Find([]byte(id))
		if !ok {
			t.Fatalf("the key %s was not found", id)
		}
		check := func(day, signature, text string) bool {
			return v.VerifyText(key, [8]byte([]byte(day)), []byte(signature), []byte(text))
		}
		good := textSignature(secrets[id], day, text)
		other, _ := hex.DecodeString(good)
		other[rapid.IntRange(0, 31).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		switch {
		case !check(day, good, text):
			t.Error("a correct signature was refused")
		case check("20261119", good, text), check(day, good, text+" "), check(day, good[:63], text), check(day, good+"0", text),
			check(day, "", text), check(day, strings.ToUpper(good)+"A", text), check(day, hex.EncodeToString(other), text),
			check(day, textSignature("", day, text), text):
			t.Error("a wrong signature was accepted")
		}
	})
	for _, id := range []string{"", "APPKE", "APPKEYS", "appkey"} {
		if _, ok := v.Find([]byte(id)); ok {
			t.Errorf("a key was found for %q", id)
		}
	}
}

// TestVerifyTextAllocs checks that authenticating a connection doesn't allocate.
func TestVerifyTextAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	v := NewVerifier(region, service, keys)
	id, day, text := []byte("APPKEY"), [8]byte([]byte("20261120")), []byte(strings.Repeat("x", 140))
	signature := []byte(textSignature("s3cr3t", string(day[:]), string(text)))
	if n := testing.AllocsPerRun(1000, func() {
		if key, ok := v.Find(id); !ok || !v.VerifyText(key, day, signature, text) {
			t.Fatal("a correct signature was refused")
		}
	}); n != 0 {
		t.Errorf("got %v allocations; want 0", n)
	}
}
