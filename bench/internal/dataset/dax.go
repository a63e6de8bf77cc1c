package dataset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// DAX's ids of the measured methods.
const (
	daxGetItem     = 263244906
	daxPutItem     = -2106490455
	daxQuery       = -931250863
	daxBatchGet    = -697851100
	daxDefineLists = -1230579644
	daxAuthorize   = 1489122155
)

// DAXGreeting returns the bytes that begin a DAX connection.
func DAXGreeting() []byte {
	b := cbor.AppendText(nil, "J7yne5G")
	b = cbor.AppendUint(b, 0)
	b = cbor.AppendBytes(b, []byte("benchmark-of-dax"))
	b = cbor.AppendMap(b, 1)
	b = cbor.AppendText(b, "UserAgent")
	b = cbor.AppendText(b, "bench")
	return cbor.AppendUint(b, 0)
}

// AppendDAXAuth appends the authentication message of a client, signed at now. It is valid
// for five minutes and has no answer.
func AppendDAXAuth(dst []byte, now time.Time) []byte {
	at := now.UTC().Format("20060102T150405Z")
	scope := at[:8] + "/" + Region + "/dax/aws4_request"
	request := sha256.Sum256(fmt.Appendf(nil, "POST\n/\n\nhost:dax.amazonaws.com\nx-amz-date:%s\n\nhost;x-amz-date\n%x", at, sha256.Sum256(nil)))
	text := fmt.Appendf(nil, "AWS4-HMAC-SHA256\n%s\n%s\n%x", at, scope, request)
	key := []byte("AWS4" + SecretKey)
	for _, part := range [][]byte{[]byte(at[:8]), []byte(Region), []byte("dax"), []byte("aws4_request"), text} {
		h := hmac.New(sha256.New, key)
		h.Write(part)
		key = h.Sum(nil)
	}
	dst = cbor.AppendText(appendDAXMethod(dst, daxAuthorize), AccessKey)
	dst = cbor.AppendBytes(cbor.AppendText(dst, hex.EncodeToString(key)), text)
	return cbor.AppendNull(cbor.AppendNull(dst)) // without session and name
}

// appendDAXMethod appends the start of a request.
func appendDAXMethod(dst []byte, id int64) []byte {
	return cbor.AppendInt(cbor.AppendUint(dst, 1), id)
}

// appendDAXKey appends the key of item i: the partition key as a text, then the bytes of the
// sort key.
func appendDAXKey(dst []byte, i int) []byte {
	start := len(dst)
	dst = AppendPartition(cbor.AppendTextHead(dst, len("p00000012")), i)
	return cbor.WrapBytes(append(dst, 's', byte('0'+i%PerPartition)), start)
}

// AppendDAXGet appends a GetItem request for item i.
func (s Set) AppendDAXGet(dst []byte, i int) []byte {
	dst = appendDAXMethod(dst, daxGetItem)
	dst = appendDAXKey(cbor.AppendBytes(dst, []byte(s.Table)), i)
	return cbor.AppendBreak(cbor.AppendMapOpen(dst))
}

// AppendDAXQuery appends a Query request for the partition of item i.
func (s Set) AppendDAXQuery(dst []byte, i int) []byte {
	dst = appendDAXMethod(dst, daxQuery)
	dst = cbor.AppendBytes(dst, []byte(s.Table))
	start := len(dst)
	// The condition: its format is 1, and it is that pk equals (0) the value (17) with number 0.
	dst = cbor.AppendArray(cbor.AppendUint(cbor.AppendArray(dst, 3), 1), 3)
	dst = cbor.AppendArray(cbor.AppendUint(dst, 0), 2)
	dst = cbor.AppendText(cbor.AppendUint(dst, 18), "pk") // an attribute (18)
	dst = cbor.AppendUint(cbor.AppendUint(cbor.AppendArray(dst, 2), 17), 0)
	dst = AppendPartition(cbor.AppendTextHead(cbor.AppendArray(dst, 1), len("p00000012")), i)
	dst = cbor.WrapBytes(dst, start)
	return cbor.AppendBreak(cbor.AppendMapOpen(dst))
}

// AppendDAXBatchGet appends a BatchGetItem request for n items from i on, step apart.
func (s Set) AppendDAXBatchGet(dst []byte, i, n, step int) []byte {
	dst = cbor.AppendMap(appendDAXMethod(dst, daxBatchGet), 1)
	dst = cbor.AppendArray(cbor.AppendText(dst, s.Table), 3)
	dst = append(dst, 0xf4) // not strongly consistent
	dst = cbor.AppendArray(cbor.AppendNull(dst), n)
	for k := range n {
		dst = appendDAXKey(dst, i+k*step)
	}
	return cbor.AppendBreak(cbor.AppendMapOpen(dst))
}

// AppendDAXPut appends a PutItem request for item i, with attributes in the order of
// AppendDAXLists. list is the answer to that request.
func (s Set) AppendDAXPut(dst []byte, i int, list uint64) []byte {
	dst = appendDAXMethod(dst, daxPutItem)
	dst = appendDAXKey(cbor.AppendBytes(dst, []byte(s.Table)), i)
	start := len(dst)
	dst = cbor.AppendUint(dst, list)
	dst = cbor.AppendText(dst, s.bulk(i))
	dst = cbor.WrapBytes(cbor.AppendUint(dst, uint64(100_000_000+i)), start)
	return cbor.AppendBreak(cbor.AppendMapOpen(dst))
}

// AppendDAXLists appends the request for the number of the list of an item's
// attributes.
func AppendDAXLists(dst []byte) []byte {
	dst = cbor.AppendArray(appendDAXMethod(dst, daxDefineLists), 2)
	return cbor.AppendText(cbor.AppendText(dst, "bulk"), "n")
}

// DAXFrame returns the length of an answer to one of these requests: a status, then one
// value, or two after an error.
func DAXFrame(answer []byte) (length int, whole bool, err error) { return daxFrame(answer, 2) }

// DAXBatchFrame is DAXFrame for a BatchGetItem, whose answer has two values.
func DAXBatchFrame(answer []byte) (length int, whole bool, err error) { return daxFrame(answer, 3) }

func daxFrame(answer []byte, items int) (length int, whole bool, err error) {
	if len(answer) == 0 || answer[0] != 0x80 {
		items = 3
	}
	var s cbor.Scanner
	s.Begin(items)
	return s.Scan(answer)
}
