package dataset

import "github.com/kasoku/kasoku/internal/dynamo/dax/cbor"

// What DAX calls the methods that are measured.
const (
	daxGetItem     = 263244906
	daxPutItem     = -2106490455
	daxDefineLists = -1230579644
)

// DAXGreeting is what a connection of the DAX protocol begins with.
func DAXGreeting() []byte {
	b := cbor.AppendText(nil, "J7yne5G")
	b = cbor.AppendUint(b, 0)
	b = cbor.AppendBytes(b, []byte("benchmark-of-dax"))
	b = cbor.AppendMap(b, 1)
	b = cbor.AppendText(b, "UserAgent")
	b = cbor.AppendText(b, "bench")
	return cbor.AppendUint(b, 0)
}

// appendDAXMethod begins a request.
func appendDAXMethod(dst []byte, id int64) []byte {
	return cbor.AppendInt(cbor.AppendUint(dst, 1), id)
}

// appendDAXKey appends the key of item i: the partition key as a text, then the sort
// key as it is.
func appendDAXKey(dst []byte, i int) []byte {
	start := len(dst)
	dst = AppendPartition(cbor.AppendTextHead(dst, len("p00000012")), i)
	return cbor.WrapBytes(append(dst, 's', byte('0'+i%PerPartition)), start)
}

// AppendDAXGet appends a whole GetItem of item i.
func (s Set) AppendDAXGet(dst []byte, i int) []byte {
	dst = appendDAXMethod(dst, daxGetItem)
	dst = appendDAXKey(cbor.AppendBytes(dst, []byte(s.Table)), i)
	return cbor.AppendBreak(cbor.AppendMapOpen(dst))
}

// AppendDAXPut appends a whole PutItem of item i, whose attributes stand in the order
// of AppendDAXLists, which has been answered with list.
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

// DAXFrame finds the end of an answer to one of these requests: a status, then one
// value, or two after an error.
func DAXFrame(answer []byte) (length int, whole bool, err error) {
	items := 3
	if len(answer) > 0 && answer[0] == 0x80 {
		items = 2
	}
	var s cbor.Scanner
	s.Begin(items)
	return s.Scan(answer)
}
