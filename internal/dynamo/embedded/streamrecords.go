package embedded

import (
	"bytes"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// A record is stored as the text of its last members. The first members follow from its key,
// and are written when it is read.

// unchanged reports whether the item is the same before and after the change.
func (c *change) unchanged() bool {
	if c.old.exists() != c.new.exists() {
		return false
	}
	return !c.old.exists() || bytes.Equal(c.old.text, c.new.text) || c.old.tree.Equal(c.new.tree)
}

// prepareRecord makes the record of a change to a table with a stream.
func (e *edit) prepareRecord(c *change) {
	if info := c.t.info.Stream; info != nil && !c.unchanged() {
		c.record = appendRecord(nil, info, c, e.s.clock())
	}
}

// appendRecord appends the stored form of a change's record.
func appendRecord(dst []byte, info *catalog.Stream, c *change, now time.Time) []byte {
	item, name := c.new.tree, "MODIFY"
	switch {
	case !c.old.exists():
		name = "INSERT"
	case !c.new.exists():
		item, name = c.old.tree, "REMOVE"
	}
	keys := value.Value{Type: value.Map}
	for a := range info.Key.All() {
		keys.Members = append(keys.Members, value.Member{Name: a.Name, Value: *item.Get(a.Name)})
	}
	size := keys.ItemSize()
	dst = append(dst, `"ApproximateCreationDateTime":`...)
	dst = strconv.AppendInt(dst, now.Unix(), 10)
	dst = append(dst, `,"Keys":`...)
	dst = keys.AppendItem(dst)
	image := func(member string, m *image) {
		dst = append(append(append(dst, ',', '"'), member...), '"', ':')
		dst = append(dst, m.text...)
		size += m.size
	}
	if info.View.New() && c.new.exists() {
		image("NewImage", &c.new)
	}
	if info.View.Old() && c.old.exists() {
		image("OldImage", &c.old)
	}
	dst = append(dst, `,"SizeBytes":`...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, `,"StreamViewType":"`...)
	dst = append(dst, info.View...)
	dst = append(dst, `"},"eventName":"`...)
	dst = append(dst, name...)
	dst = append(dst, '"')
	if c.expired {
		dst = append(dst, `,"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}`...)
	}
	return append(dst, '}')
}

// streamWrite is a stream with the last number that an edit has written to it.
type streamWrite struct {
	stream *stream
	last   uint64
}

// writeRecords adds the records of the edit's changes to its batch. The caller holds the
// streams' mu.
func (e *edit) writeRecords() {
	now := e.s.clock()
	for _, c := range e.changes {
		if c.record == nil {
			continue
		}
		st := c.t.stream
		number := st.nextNumber(now)
		e.keyBuf = recordKey(e.keyBuf[:0], st.info.Load().ID, number)
		e.b.Set(e.keyBuf, c.record)
		e.streamWrites = append(e.streamWrites, streamWrite{st, number})
	}
}

// publishRecords makes the edit's records, which are on disk now, visible to readers.
func (e *edit) publishRecords() {
	for _, n := range e.streamWrites {
		n.stream.setDurable(n.last)
	}
}

// sequenceDigits is the length of a SequenceNumber.
const sequenceDigits = 21

// appendSequence appends a SequenceNumber: 1, and the number in 20 digits.
func appendSequence(dst []byte, number uint64) []byte {
	text := strconv.AppendUint(make([]byte, 0, 20), number, 10)
	dst = append(dst, '1')
	for range 20 - len(text) {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}

// parseSequence reads a SequenceNumber. It returns false if it is not in the form of one.
func parseSequence(text string) (uint64, bool) {
	if len(text) != sequenceDigits || text[0] != '1' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:], 10, 64)
	return n, err == nil
}

// readRecord appends a record in the form of the API.
func readRecord(dst []byte, region string, info *catalog.Stream, key, stored []byte) []byte {
	dst = append(dst, `{"eventID":"`...)
	dst = ascii.AppendHex(dst, xxhash.Sum64(key), 16)
	dst = ascii.AppendHex(dst, xxhash.Sum64(append([]byte(info.Table+info.Label), key...)), 16)
	dst = append(dst, `","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":`...)
	dst = wire.AppendQuoted(dst, []byte(region))
	dst = append(dst, `,"dynamodb":{"SequenceNumber":"`...)
	dst = appendSequence(dst, recordNumber(key))
	dst = append(dst, '"', ',')
	return append(dst, stored...)
}
