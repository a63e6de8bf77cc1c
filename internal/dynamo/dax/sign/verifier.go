package sign

import (
	"bytes"
	"crypto/hmac"
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
	// skew is how far a signature's time may be from now.
	skew = 5 * time.Minute
	// longestText is more than a signed text has.
	longestText = 512
)

// hosts are the ways in which clients write the host that they sign for.
var hosts = [...]string{"dax.amazonaws.com", "https://dax.amazonaws.com"}

// Verifier checks signatures against a fixed list of keys. It is safe for concurrent use.
type Verifier struct {
	region string
	keys   map[string]string // secrets by id
}

// New takes the region that clients must sign for and the keys that they may use. Of two
// keys with one id the first counts.
func New(region string, keys []sigv4.Key) *Verifier {
	v := &Verifier{region: region, keys: make(map[string]string, len(keys))}
	for _, k := range keys {
		if _, ok := v.keys[k.ID]; !ok {
			v.keys[k.ID] = k.Secret
		}
	}
	return v
}

// Refusal is why a client has not proved who it is, in words that help who runs it: clients
// show them.
type Refusal struct {
	// Again tells whether another signature may be better; else the client's
	// configuration is wrong, or the server's.
	Again bool
	Text  string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) *Refusal { return &Refusal{Text: fmt.Sprintf(format, args...)} }

// Verify checks that text was signed with the key of that id, at a time near now, and
// returns that time. token says that the client has sent a session token as well.
func (v *Verifier) Verify(id, signature, text []byte, token bool, now time.Time) (signed time.Time, r *Refusal) {
	secret, ok := v.keys[string(id)]
	switch {
	case !ok:
		return signed, refuse("The access key %.128q is not one of this service's: check the client's credentials, or add the key to auth.keys", id)
	case token:
		return signed, refuse("The client has temporary credentials, with a session token: this service knows only the keys in auth.keys")
	case len(text) > longestText:
		return signed, refuse("The signed text is of %d bytes", len(text))
	}
	line, n := split(text)
	if n != len(line) || string(line[0]) != algorithm {
		return signed, refuse("The signed text is not one of %s", algorithm)
	}
	signed, err := time.Parse(stamp, string(line[1]))
	if err != nil || len(line[1]) != len(stamp) {
		return signed, refuse("The signed text has no time: %.32q", line[1])
	}
	if r := v.scope(line[1], line[2]); r != nil {
		return signed, r
	}
	if !canonical(line[1], line[3]) {
		return signed, refuse("The signature is for another request than one to %s", hosts[0])
	}
	want := sign(secret, line[1][:8], v.region, text)
	if subtle.ConstantTimeCompare(want, signature) != 1 {
		return signed, refuse("The signature does not match: check the secret of access key %s", id)
	}
	if d := now.Sub(signed); d > skew || d < -skew {
		return signed, &Refusal{Again: true, Text: fmt.Sprintf("The signature is of %s and the server's time is %s: check the client's clock",
			line[1], now.UTC().Format(stamp))}
	}
	return signed, nil
}

// split finds the four lines of a text; n is how many there are.
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

// scope checks what a signature is for.
func (v *Verifier) scope(at, scope []byte) *Refusal {
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

// canonical tells whether a hash is that of the request that clients sign.
func canonical(at, hash []byte) bool {
	var room [longestText]byte
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

// emptyHash is the SHA-256 of nothing, which is the body that is signed.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign makes the signature of a text in hexadecimal.
func sign(secret string, day []byte, region string, text []byte) []byte {
	key := mac([]byte("AWS4"+secret), day)
	key = mac(key, []byte(region))
	key = mac(key, []byte(service))
	key = mac(key, []byte(terminator))
	return hex.AppendEncode(nil, mac(key, text))
}

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}
