package anonymise

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/big"
	"strconv"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// keyed computes HMAC-SHA-256 with a secret.
type keyed struct {
	macs sync.Pool
}

func newKeyed(secret string) *keyed {
	return &keyed{sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(secret)) }}}
}

// sum returns the code of some parts. use separates codes for different uses.
func (k *keyed) sum(use string, typ value.Type, text []byte) (out [sha256.Size]byte) {
	mac := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(use))
	mac.Write([]byte{0, byte(typ)})
	mac.Write(text)
	mac.Sum(out[:0])
	return out
}

// hash returns the value in place of a scalar, of the same type. Different values have
// different hashes: always for whole numbers of up to 15 digits, and for all others except
// with the probability of a collision in 128 bits.
func (k *keyed) hash(v value.Value) value.Value {
	if v.Type == value.Number {
		return k.hashNumber(v)
	}
	sum := k.sum("hash", v.Type, v.Text)
	if v.Type == value.Binary {
		return value.Value{Type: value.Binary, Text: sum[:16]}
	}
	return value.Value{Type: value.String, Text: hex.AppendEncode(nil, sum[:16])}
}

// maxShort is the bound of the whole numbers that are replaced by each other. It is less than
// 2 to the power of 53, so that clients that read numbers as floats get the exact value.
const maxShort = 1_000_000_000_000_000

// hashNumber returns the hash of a number: short whole numbers are permuted and keep their
// sign, all others get 38 digits.
func (k *keyed) hashNumber(v value.Value) value.Value {
	if n, err := strconv.ParseInt(string(v.Text), 10, 64); err == nil && n < maxShort && n >= -maxShort {
		if n >= 0 {
			n = int64(k.permute("positive", uint64(n)))
		} else {
			n = -int64(k.permute("negative", uint64(-n-1))) - 1
		}
		return value.Value{Type: value.Number, Text: strconv.AppendInt(nil, n, 10)}
	}
	sum := k.sum("hash", v.Type, v.Text)
	// From 10^37 to 10^38, exclusive.
	least := new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil)
	n := new(big.Int).SetBytes(sum[:])
	n.Mod(n, new(big.Int).Mul(least, big.NewInt(9)))
	digits := n.Add(n, least).Append(nil, 10)
	number, _ := numberOf(string(digits)) // 38 digits are a number
	return number
}

const (
	rounds   = 8
	halfBits = 25 // two halves hold maxShort
	halfMask = 1<<halfBits - 1
)

// permute returns another number below maxShort, a different one for each n: a Feistel
// network, applied again until the result is below maxShort.
func (k *keyed) permute(use string, n uint64) uint64 {
	for {
		left, right := n>>halfBits, n&halfMask
		for round := range byte(rounds) {
			sum := k.sum(use, value.Number, binary.BigEndian.AppendUint64([]byte{round}, right))
			left, right = right, left^uint64(binary.BigEndian.Uint32(sum[:]))&halfMask
		}
		if n = left<<halfBits | right; n < maxShort {
			return n
		}
	}
}
