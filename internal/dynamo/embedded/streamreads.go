package embedded

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// iteratorLife is the lifetime of a shard iterator.
const iteratorLife = 15 * time.Minute

// The limits of a reply to GetRecords.
const (
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
)

// errNoStream is the error of operations on streams for a missing one.
func errNoStream(arn string) *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Requested resource not found: Stream: %s not found", arn)}
}

// errNoShard is the error for a shard that the stream does not have.
var errNoShard = &wire.Error{Type: "ResourceNotFoundException", Message: "Requested resource not found: Shard does not exist"}

// errSequence is the error for an invalid or unknown SequenceNumber.
var errSequence = wire.Invalid("One or more parameter values were invalid: Invalid SequenceNumber")

// errTrimmed is the error for records that have been removed.
var errTrimmed = &wire.Error{Type: "TrimmedDataAccessException",
	Message: "The data you are trying to access has been trimmed"}

func (s *Store) streamARN(info *catalog.Stream) string {
	return s.place().Stream(info.Table, info.Label)
}

func (s *Store) stream(arn string) (*stream, error) {
	table, label, ok := catalog.ParseStream(arn)
	if !ok {
		return nil, wire.Invalid("Invalid StreamArn")
	}
	st := s.streams.find(table, label)
	if st == nil || s.streamARN(st.info.Load()) != arn {
		return nil, errNoStream(arn)
	}
	return st, nil
}

func (c *call) listStreams() error {
	start := c.memberText("ExclusiveStartStreamArn")
	if start != "" {
		if _, _, ok := catalog.ParseStream(start); !ok {
			return wire.Invalid("Invalid StreamArn")
		}
	}
	table, limit := c.tableName(), c.memberCount("Limit", 100)
	var found []*catalog.Stream
	for st := range maps.Values(*c.s.streams.all.Load()) {
		info := st.info.Load()
		if (table == "" || info.Table == table) && (start == "" || c.s.streamARN(info) > start) {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b *catalog.Stream) int {
		return strings.Compare(c.s.streamARN(a), c.s.streamARN(b))
	})
	more := len(found) > limit
	found = found[:min(limit, len(found))]
	c.out = append(c.out, `{"Streams":[`...)
	for i, info := range found {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, '{')
		c.appendStreamNames(info)
		c.out = append(c.out, '}')
	}
	c.out = append(c.out, ']')
	if more {
		c.out = append(c.out, `,"LastEvaluatedStreamArn":`...)
		c.out = wire.AppendQuoted(c.out, []byte(c.s.streamARN(found[limit-1])))
	}
	c.out = append(c.out, '}')
	return nil
}

// appendStreamNames appends the members that identify a stream.
func (c *call) appendStreamNames(info *catalog.Stream) {
	c.out = append(c.out, `"StreamArn":`...)
	c.out = wire.AppendQuoted(c.out, []byte(c.s.streamARN(info)))
	c.out = append(c.out, `,"TableName":`...)
	c.out = wire.AppendQuoted(c.out, []byte(info.Table))
	c.out = append(c.out, `,"StreamLabel":`...)
	c.out = wire.AppendQuoted(c.out, []byte(info.Label))
}

func (c *call) describeStream() error {
	st, err := c.s.stream(c.memberText("StreamArn"))
	if err != nil {
		return err
	}
	info := st.info.Load()
	status := catalog.Enabled
	if info.Closed != nil {
		status = catalog.Disabled
	}
	c.out = append(c.out, `{"StreamDescription":{`...)
	c.appendStreamNames(info)
	c.out = append(c.out, `,"StreamStatus":"`...)
	c.out = append(c.out, status...)
	c.out = append(c.out, `","StreamViewType":"`...)
	c.out = append(c.out, info.View...)
	c.out = append(c.out, `","CreationRequestDateTime":`...)
	c.out = catalog.AppendTime(c.out, info.Created)
	c.out = append(c.out, ',')
	c.out = catalog.AppendKeySchema(c.out, &info.Key)
	c.out = append(c.out, `,"Shards":[`...)
	// The only shard has no children, and follows no other.
	if c.member("ShardFilter") == nil && c.memberText("ExclusiveStartShardId") < info.Shard {
		c.appendShard(info, st.floor())
	}
	c.out = append(c.out, "]}}"...)
	return nil
}

// appendShard appends the description of a stream's shard, whose records have numbers of at
// least floor.
func (c *call) appendShard(info *catalog.Stream, floor uint64) {
	c.out = append(c.out, `{"ShardId":"`...)
	c.out = append(c.out, info.Shard...)
	c.out = append(c.out, `","SequenceNumberRange":{"StartingSequenceNumber":"`...)
	c.out = appendSequence(c.out, floor)
	c.out = append(c.out, '"')
	if info.Closed != nil {
		c.out = append(c.out, `,"EndingSequenceNumber":"`...)
		c.out = appendSequence(c.out, max(info.End, floor))
		c.out = append(c.out, '"')
	}
	c.out = append(c.out, "}}"...)
}

func (c *call) getShardIterator() error {
	if err := c.checkSequenceNumber(); err != nil {
		return err
	}
	arn := c.memberText("StreamArn")
	st, err := c.s.stream(arn)
	if err != nil {
		return err
	}
	if c.memberText("ShardId") != st.info.Load().Shard {
		return errNoShard
	}
	after, err := c.position(st)
	if err != nil {
		return err
	}
	c.out = append(c.out, `{"ShardIterator":`...)
	c.out = wire.AppendQuoted(c.out, shardIterator{arn, after, c.now}.append(nil))
	c.out = append(c.out, '}')
	return nil
}

// checkSequenceNumber refuses an iterator type that needs a sequence number and has none, or has
// one that it doesn't use.
func (c *call) checkSequenceNumber() error {
	typ := c.memberText("ShardIteratorType")
	numbered := strings.HasSuffix(typ, "_SEQUENCE_NUMBER")
	if given := c.memberText("SequenceNumber") != ""; numbered && !given {
		return errSequence
	} else if given && !numbered {
		return wire.Invalid("One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type")
	}
	return nil
}

// position returns the number after which a new iterator begins; 0 for the oldest record.
func (c *call) position(st *stream) (uint64, error) {
	typ, text := c.memberText("ShardIteratorType"), c.memberText("SequenceNumber")
	switch typ {
	case "TRIM_HORIZON":
		return 0, nil
	case "LATEST":
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.last, nil
	}
	number, ok := parseSequence(text)
	if !ok {
		return 0, errSequence
	}
	if number < st.floor() {
		return 0, errTrimmed
	}
	if typ == "AT_SEQUENCE_NUMBER" {
		number--
	}
	return number, nil
}

// shardIterator is a position in the shard of a stream.
type shardIterator struct {
	arn   string
	after uint64 // number of the record before it; 0 for the oldest record
	made  time.Time
}

// iteratorMark separates the ARN from the rest of an iterator.
const iteratorMark = "|1|"

// append appends the text of an iterator. Its checksum detects accidental changes.
func (it shardIterator) append(dst []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, it.after)
	b = binary.BigEndian.AppendUint64(b, uint64(it.made.UnixMilli()))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(append([]byte(it.arn), b...)))
	dst = append(append(dst, it.arn...), iteratorMark...)
	return base64.StdEncoding.AppendEncode(dst, b)
}

// parseIterator reads the text of an iterator.
func parseIterator(text string) (it shardIterator, ok bool) {
	arn, rest, _ := strings.Cut(text, iteratorMark)
	b, err := base64.StdEncoding.DecodeString(rest)
	if err != nil || len(b) != 20 || binary.BigEndian.Uint32(b[16:]) != crc32.ChecksumIEEE(append([]byte(arn), b[:16]...)) {
		return it, false
	}
	return shardIterator{arn, binary.BigEndian.Uint64(b), time.UnixMilli(int64(binary.BigEndian.Uint64(b[8:])))}, true
}

func (c *call) getRecords() error {
	it, ok := parseIterator(c.memberText("ShardIterator"))
	if !ok {
		return wire.Invalid("Invalid ShardIterator")
	}
	if c.now.Sub(it.made) > iteratorLife {
		return &wire.Error{Type: "ExpiredIteratorException", Message: "Shard iterator has expired"}
	}
	st, err := c.s.stream(it.arn)
	if err != nil {
		return err
	}
	info := st.info.Load()
	c.out = append(c.out, `{"Records":[`...)
	next, err := c.appendRecords(st, it.after, c.memberCount("Limit", maxRecords))
	if err != nil {
		return err
	}
	c.out = append(c.out, ']')
	if info.Closed == nil || next < info.End {
		c.out = append(c.out, `,"NextShardIterator":`...)
		c.out = wire.AppendQuoted(c.out, shardIterator{it.arn, next, c.now}.append(nil))
	}
	c.out = append(c.out, '}')
	return nil
}

// appendRecords appends the records after a number, 0 for all, and returns the number after
// which to continue.
func (c *call) appendRecords(st *stream, after uint64, limit int) (next uint64, err error) {
	info, durable := st.info.Load(), st.durable.Load()
	if durable <= after {
		return after, nil
	}
	it, err := c.s.db.Iter(recordKey(nil, info.ID, after+1), recordKey(nil, info.ID, durable+1))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if after != 0 && after+1 < st.floor() {
		return 0, errTrimmed
	}
	begin := len(c.out)
	for ok := it.First(); ok; ok = it.Next() {
		if limit == 0 || len(c.out)-begin+len(it.Value()) > maxRecordBytes && len(c.out) > begin {
			return after, nil
		}
		if len(c.out) > begin {
			c.out = append(c.out, ',')
		}
		c.out = readRecord(c.out, c.s.cfg.Region, info, it.Key(), it.Value())
		after = recordNumber(it.Key())
		limit--
	}
	return max(after, durable), it.Error()
}
