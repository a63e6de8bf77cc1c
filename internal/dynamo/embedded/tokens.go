package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// tokenLife is the time for which a ClientRequestToken is remembered.
const tokenLife = 10 * time.Minute

// The name spaces of tokens, one for each operation that accepts them.
const (
	tokenOfWrites     = 'w'
	tokenOfStatements = 'p'
)

// The keys below spaceToken: a token's record by its name, and tokens by the time of their
// use, for removing old ones.
//
//	k n space name       time, hash of the parameters, sizes of the items
//	k t time space name  nothing
const (
	tokenByName = 'n'
	tokenByTime = 't'
)

// token is a ClientRequestToken with a hash of its parameters.
type token struct {
	key  []byte // of its record; locked like an item
	hash [sha256.Size]byte
}

// newToken returns the token of a request whose parameters are in the named member of its
// body.
func newToken(space byte, name string, body []byte, member string) *token {
	t := &token{key: append([]byte{spaceToken, tokenByName, space}, name...)}
	text, _ := wire.Lookup(body, member)
	if same, ok := wire.AppendCanonical(nil, text); ok {
		text = same
	}
	t.hash = sha256.Sum256(text)
	return t
}

func (t *token) byTime(at time.Time) []byte {
	key := binary.BigEndian.AppendUint64([]byte{spaceToken, tokenByTime}, uint64(at.UnixNano()))
	return append(key, t.key[2:]...)
}

// lookup reports whether a request with this token was completed recently, and returns the
// stored sizes. The caller holds the lock of the token's key.
func (t *token) lookup(r kv.Reader, now time.Time) (sizes []int, found bool, err error) {
	v, ok, err := r.Get(t.key)
	if !ok || err != nil {
		return nil, false, err
	}
	defer v.Close()
	at, rest := time.Unix(0, int64(binary.BigEndian.Uint64(v.Bytes))), v.Bytes[8:]
	if now.Sub(at) >= tokenLife {
		return nil, false, nil
	}
	if !bytes.HasPrefix(rest, t.hash[:]) {
		return nil, false, &wire.Error{Type: "IdempotentParameterMismatchException",
			Message: "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical"}
	}
	for rest = rest[sha256.Size:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, false, errors.New("the record of a client request token is damaged")
		}
		sizes, rest = append(sizes, int(size)), rest[n:]
	}
	return sizes, true, nil
}

func (e *edit) remember(t *token, now time.Time, sizes []int) {
	record := binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano()))
	record = append(record, t.hash[:]...)
	for _, n := range sizes {
		record = binary.AppendUvarint(record, uint64(n))
	}
	e.b.Set(t.key, record)
	e.b.Set(t.byTime(now), nil)
}

// tokensAtOnce is the maximum number of tokens that are removed in one batch, which bounds
// the number of locks held for that.
const tokensAtOnce = 128

// forgetTokens removes expired tokens.
func (s *Store) forgetTokens(now time.Time) error {
	for {
		old, err := s.oldTokens(now)
		if err != nil || len(old) == 0 {
			return err
		}
		if err := s.forget(old); err != nil {
			return err
		}
	}
}

// oldTokens returns the keys by time of some expired tokens.
func (s *Store) oldTokens(now time.Time) (keys [][]byte, err error) {
	lower := []byte{spaceToken, tokenByTime}
	upper := (&token{key: []byte{0, 0}}).byTime(now.Add(1 - tokenLife))
	return s.firstKeys(lower, upper, tokensAtOnce)
}

// forget removes expired tokens, except for the record of one that has been used again.
func (s *Store) forget(byTime [][]byte) error {
	const head = 2 + 8 // space, order and time
	names := make([][]byte, len(byTime))
	for i, key := range byTime {
		names[i] = append([]byte{spaceToken, tokenByName}, key[head:]...)
	}
	e := s.newEdit()
	defer e.close()
	e.lock(names...)
	for i, key := range byTime {
		e.b.Delete(key)
		v, ok, err := s.db.Get(names[i])
		if err != nil {
			return err
		}
		if ok && bytes.HasPrefix(v.Bytes, key[2:head]) {
			e.b.Delete(names[i])
		}
		if ok {
			v.Close()
		}
	}
	return e.commit()
}
