package sign

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	service    = "dax"
	terminator = "aws4_request"
	stamp      = "20060102T150405Z"
	// maxSkew is the maximum difference between a signature's time and now.
	maxSkew = 5 * time.Minute
	// maxTextLen exceeds the length of any signed text.
	maxTextLen = 512
)

// hosts are the spellings of the host that clients sign.
var hosts = [...]string{"dax.amazonaws.com", "https://dax.amazonaws.com"}

// Verifier verifies signatures with a fixed list of keys. It is safe for concurrent use.
type Verifier struct {
	region string
	keys   *sigv4.Verifier
}

// New returns a verifier for the region and keys of clients. If two keys have the same ID,
// the first is used.
func New(region string, keys []sigv4.Key) *Verifier {
	return &Verifier{region: region, keys: sigv4.NewVerifier(region, service, keys)}
}

// Refusal is the reason for a failed authentication, in words for the client's operator:
// clients display it.
type Refusal struct {
	// Retryable reports whether another signature might succeed; otherwise the configuration
	// of the client or the server is wrong.
	Retryable bool
	Text      string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) *Refusal { return &Refusal{Text: fmt.Sprintf(format, args...)} }

// Verify checks that text was signed with the key of the given ID at a time near now, and
// returns that time. token reports whether the client has sent a session token, which is
// rejected, as for HTTP. Success doesn't allocate.
//
// The time is checked before the signature, so that keys are only derived for days near now.
func (v *Verifier) Verify(id, signature, text []byte, token bool, now time.Time) (signed time.Time, r *Refusal) {
	key, ok := v.keys.Find(id)
	switch {
	case !ok:
		return signed, refuse("The access key %.128q is not one of this service's: check the client's credentials, or add the key to auth.keys", id)
	case token:
		return signed, refuse("The client has temporary credentials, with a session token: this service accepts only the keys in auth.keys")
	case len(text) > maxTextLen:
		return signed, refuse("The signed text is of %d bytes", len(text))
	}
	line, n := split(text)
	if n != len(line) || string(line[0]) != algorithm {
		return signed, refuse("The signed text is not one of %s", algorithm)
	}
	at := line[1]
	if signed, ok = sigv4.ParseDate(at); !ok {
		return signed, refuse("The signed text has no time: %.32q", at)
	}
	if r := v.checkScope(at, line[2]); r != nil {
		return signed, r
	}
	if !isCanonicalHash(at, line[3]) {
		return signed, refuse("The signature is for another request than one to %s", hosts[0])
	}
	if r := checkTime(at, signed, now); r != nil {
		return signed, r
	}
	if !v.keys.VerifyText(key, [8]byte(at[:8]), signature, text) {
		return signed, refuse("The signature does not match: check the secret of access key %s", id)
	}
	return signed, nil
}

// checkTime rejects a time that is too far from now.
func checkTime(at []byte, signed, now time.Time) *Refusal {
	off, where := now.Sub(signed), "behind"
	if off < 0 {
		off, where = -off, "ahead of"
	}
	if off <= maxSkew {
		return nil
	}
	return &Refusal{Retryable: true, Text: fmt.Sprintf("The signature's time, %s, is %v %s the server's, %s, and at most %v are permitted: check the client's clock and the server's",
		at, off.Round(time.Second), where, now.UTC().Format(stamp), maxSkew)}
}

// split returns the four lines of a text; n is their number.
func split(text []byte) (line [4][]byte, n int) {
	for more := true; more; n++ {
		var one []byte
		one, text, more = bytes.Cut(text, []byte("\n"))
		if n < len(line) {
			line[n] = one
		}
	}
	return line, n
}

// checkScope checks the scope of a signature.
func (v *Verifier) checkScope(at, scope []byte) *Refusal {
	day, rest, _ := bytes.Cut(scope, []byte("/"))
	region, rest, _ := bytes.Cut(rest, []byte("/"))
	if !bytes.Equal(day, at[:8]) || string(rest) != service+"/"+terminator {
		return refuse("The signature is for %.128q, which is not a day's, a region's and DAX's", scope)
	}
	if string(region) != v.region {
		return refuse("The client has signed for region %.64q, and this service is in %s: set the client's region", region, v.region)
	}
	return nil
}

// isCanonicalHash reports whether hash is that of the request that clients sign.
func isCanonicalHash(at, hash []byte) bool {
	var room [maxTextLen]byte
	for _, host := range hosts {
		b := append(room[:0], "POST\n/\n\nhost:"...)
		b = append(append(b, host...), "\nx-amz-date:"...)
		b = append(append(b, at...), "\n\nhost;x-amz-date\n"...)
		b = append(b, emptyHash...)
		sum := sha256.Sum256(b)
		var text [2 * sha256.Size]byte
		hex.Encode(text[:], sum[:])
		if subtle.ConstantTimeCompare(text[:], hash) == 1 {
			return true
		}
	}
	return false
}

// emptyHash is the SHA-256 of the empty body, which clients sign.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
