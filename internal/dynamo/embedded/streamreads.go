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
	// maxForeign is the maximum number of records of other shards that are read for it. The reply
	// may then have no records, although more follow.
	maxForeign = 10_000
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
	shards := info.Shards
	if filter := c.member("ShardFilter"); filter != nil {
		raw, _ := wire.Lookup(filter, "ShardId")
		parent, _ := wire.AppendString(nil, raw)
		shards = info.Children(string(parent))
	}
	shards, more := catalog.ShardPage(shards, c.memberText("ExclusiveStartShardId"), c.memberCount("Limit", 100))
	for i := range shards {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.appendShard(&shards[i], st.floor(&shards[i]))
	}
	c.out = append(c.out, ']')
	if more {
		c.out = append(c.out, `,"LastEvaluatedShardId":"`...)
		c.out = append(append(c.out, shards[len(shards)-1].ID...), '"')
	}
	c.out = append(c.out, "}}"...)
	return nil
}

// appendShard appends the description of a shard, whose records have numbers of at least floor.
func (c *call) appendShard(shard *catalog.Shard, floor uint64) {
	c.out = append(c.out, `{"ShardId":"`...)
	c.out = append(c.out, shard.ID...)
	if shard.Parent != "" {
		c.out = append(c.out, `","ParentShardId":"`...)
		c.out = append(c.out, shard.Parent...)
	}
	c.out = append(c.out, `","SequenceNumberRange":{"StartingSequenceNumber":"`...)
	c.out = appendSequence(c.out, floor)
	c.out = append(c.out, '"')
	if shard.Closed != nil {
		c.out = append(c.out, `,"EndingSequenceNumber":"`...)
		c.out = appendSequence(c.out, max(shard.End, floor))
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
	shard := st.info.Load().Shard(c.memberText("ShardId"))
	if shard == nil {
		return errNoShard
	}
	after, err := c.position(st, shard)
	if err != nil {
		return err
	}
	c.out = append(c.out, `{"ShardIterator":`...)
	c.out = wire.AppendQuoted(c.out, shardIterator{arn, shard.ID, after, c.now}.append(nil))
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

// position returns the number after which a new iterator of a shard begins; 0 for the oldest record.
func (c *call) position(st *stream, shard *catalog.Shard) (uint64, error) {
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
	if number < st.floor(shard) {
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
	shard string // its ID
	after uint64 // number of the record before it; 0 for the oldest record
	made  time.Time
}

// iteratorMark separates the ARN from the rest of an iterator, and iteratorBytes is the length of that
// rest without the shard's ID.
const (
	iteratorMark  = "|1|"
	iteratorBytes = 8 + 8 + 4
)

// append appends the text of an iterator. Its checksum detects accidental changes.
func (it shardIterator) append(dst []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte(it.shard), it.after)
	b = binary.BigEndian.AppendUint64(b, uint64(it.made.UnixMilli()))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(append([]byte(it.arn), b...)))
	dst = append(append(dst, it.arn...), iteratorMark...)
	return base64.StdEncoding.AppendEncode(dst, b)
}

// parseIterator reads the text of an iterator.
func parseIterator(text string) (it shardIterator, ok bool) {
	arn, rest, _ := strings.Cut(text, iteratorMark)
	b, err := base64.StdEncoding.DecodeString(rest)
	n := len(b) - iteratorBytes // the length of the shard's ID
	if err != nil || n <= 0 || binary.BigEndian.Uint32(b[n+16:]) != crc32.ChecksumIEEE(append([]byte(arn), b[:n+16]...)) {
		return it, false
	}
	made := time.UnixMilli(int64(binary.BigEndian.Uint64(b[n+8:])))
	return shardIterator{arn, string(b[:n]), binary.BigEndian.Uint64(b[n:]), made}, true
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
	// In this order: all records up to durable were written before info is read, so those of a shard
	// that is open then are its own.
	durable := st.durable.Load()
	info := st.info.Load()
	shard := info.Shard(it.shard)
	if shard == nil {
		return errTrimmed
	}
	if shard.Closed != nil {
		durable = min(durable, shard.End)
	}
	c.out = append(c.out, `{"Records":[`...)
	next, err := c.appendRecords(st, shard, it.after, durable, c.memberCount("Limit", maxRecords))
	if err != nil {
		return err
	}
	c.out = append(c.out, ']')
	if shard.Closed == nil || next < shard.End {
		c.out = append(c.out, `,"NextShardIterator":`...)
		c.out = wire.AppendQuoted(c.out, shardIterator{it.arn, it.shard, next, c.now}.append(nil))
	}
	c.out = append(c.out, '}')
	return nil
}

// appendRecords appends the records of a shard after a number, 0 for all, and up to another one, and
// returns the number after which to continue.
func (c *call) appendRecords(st *stream, shard *catalog.Shard, after, durable uint64, limit int) (next uint64, err error) {
	info, foreign := st.info.Load(), 0
	if next = max(after, shard.Start); durable <= next {
		return next, nil
	}
	it, err := c.s.db.Iter(recordKey(nil, info.ID, next+1), recordKey(nil, info.ID, durable+1))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if after != 0 && after+1 < st.floor(shard) {
		return 0, errTrimmed
	}
	begin := len(c.out)
	for ok := it.First(); ok; ok = it.Next() {
		if !shardHas(info, shard, recordNumber(it.Key()), it.Value()) {
			next = recordNumber(it.Key())
			if foreign++; foreign == maxForeign {
				return next, nil
			}
			continue
		}
		if limit == 0 || len(c.out)-begin+len(it.Value()) > maxRecordBytes && len(c.out) > begin {
			return next, nil
		}
		if len(c.out) > begin {
			c.out = append(c.out, ',')
		}
		c.out = readRecord(c.out, c.s.cfg.Region, info, it.Key(), it.Value())
		next = recordNumber(it.Key())
		limit--
	}
	return max(next, durable), it.Error()
}
