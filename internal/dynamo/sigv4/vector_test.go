package sigv4

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// TestPublishedVectors checks AWS's examples: the published signature is accepted, and the same
// with another last digit is not.
func TestPublishedVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, cases, _ := strings.Cut(string(text), "\n\n")
	n := 0
	for c := range strings.SplitSeq(cases, "\n--\n") {
		if c = strings.TrimLeft(c, "\n"); c == "" {
			continue
		}
		n++
		title, rest, _ := strings.Cut(c, "\n")
		top, body, _ := strings.Cut(rest+"\n", "\n\n")
		body = strings.TrimSuffix(body, "\n")
		f := strings.Fields(title)
		t.Run(f[0], func(t *testing.T) { checkVector(t, f[1], f[2], strings.Split(top, "\n"), body) })
	}
	if n != 19 {
		t.Errorf("read %d cases; want 19", n)
	}
}

func checkVector(t *testing.T, service, signature string, lines []string, body string) {
	v := NewVerifier("us-east-1", service, []Key{{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}})
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	method, target, _ := strings.Cut(lines[0], " ")
	r := head(method, target, lines[1:]...)
	var signed []string
	for _, f := range r.Fields {
		signed = append(signed, strings.ToLower(string(f.Name)))
	}
	slices.Sort(signed)
	auth := http1.Field{Name: []byte("Authorization"), Value: []byte("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" +
		service + "/aws4_request, SignedHeaders=" + strings.Join(slices.Compact(signed), ";") + ", Signature=" + signature)}
	r.Fields = append(r.Fields, auth)
	if _, err := v.Verify(r, []byte(body), at); err != nil {
		t.Fatalf("published signature refused: %v", err)
	}
	auth.Value[len(auth.Value)-1] ^= 1
	if _, err := v.Verify(r, []byte(body), at); err == nil || *err != *mismatch() {
		t.Errorf("wrong signature: got error %v; want %v", err, mismatch())
	}
}

// TestDerivedKey compares the signing key with the one in AWS's documentation.
func TestDerivedKey(t *testing.T) {
	s := secret{secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "iam"}
	key := [32]byte{0xc4, 0xaf, 0xb1, 0xcc, 0x57, 0x71, 0xd8, 0x71, 0x76, 0x3a, 0x39, 0x3e, 0x44, 0xb7, 0x03, 0x57,
		0x1b, 0x55, 0xcc, 0x28, 0x42, 0x4d, 0x1a, 0x5e, 0x86, 0xda, 0x6e, 0xd3, 0xc1, 0x54, 0xa4, 0xb9}
	if got, want := *s.signing([8]byte([]byte("20150830"))), newPads(key[:]); got != want {
		t.Errorf("signing key differs from the published one")
	}
}
