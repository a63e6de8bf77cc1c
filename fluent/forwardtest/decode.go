package forwardtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/tinylib/msgp/msgp"
)

// readMessage reads one message of any mode. With count, events are skipped and counted.
func readMessage(in *msgp.Reader, count bool) (m Message, events []Event, err error) {
	n, err := in.ReadArrayHeader()
	if err != nil {
		return m, nil, err
	}
	m.Elems = int(n)
	if n < 2 || n > 4 {
		return m, nil, fmt.Errorf("an array of %d is no message", n)
	}
	if m.Tag, err = in.ReadString(); err != nil {
		return m, nil, fmt.Errorf("tag: %w", err)
	}
	second, err := in.NextType()
	if err != nil {
		return m, nil, err
	}
	left := m.Elems - 2
	var packed []byte
	switch second {
	case msgp.BinType, msgp.StrType:
		m.Mode, m.Binary = ModePacked, second == msgp.BinType
		if packed, err = readBlob(in, second); err != nil {
			return m, nil, err
		}
		m.Packed = len(packed)
	case msgp.ArrayType:
		m.Mode = ModeForward
		list, err := in.ReadIntf()
		if err != nil {
			return m, nil, err
		}
		if events, err = forwardEvents(m.Tag, list.([]any)); err != nil {
			return m, nil, err
		}
	default:
		m.Mode = ModeMessage
		e, err := readEvent(in, m.Tag)
		if err != nil {
			return m, nil, err
		}
		events = []Event{e}
		left--
	}
	if left > 0 {
		if err = m.readOption(in); err != nil {
			return m, nil, err
		}
		left--
	}
	if left != 0 {
		return m, nil, fmt.Errorf("%d elements too many (or a record is missing)", left)
	}
	m.Events = len(events)
	if m.Mode == ModePacked {
		events, err = m.unpack(packed, count)
	}
	return m, events, err
}

func readBlob(in *msgp.Reader, t msgp.Type) ([]byte, error) {
	if t == msgp.BinType {
		return in.ReadBytes(nil)
	}
	return in.ReadStringAsBytes(nil)
}

func readEvent(in *msgp.Reader, tag string) (Event, error) {
	at, err := in.ReadIntf()
	if err != nil {
		return Event{}, err
	}
	record, err := in.ReadIntf()
	if err != nil {
		return Event{}, err
	}
	return newEvent(tag, at, record)
}

func forwardEvents(tag string, list []any) ([]Event, error) {
	events := make([]Event, 0, len(list))
	for _, v := range list {
		entry, _ := v.([]any)
		if len(entry) != 2 {
			return nil, fmt.Errorf("entry %d is no array of two", len(events))
		}
		e, err := newEvent(tag, entry[0], entry[1])
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func newEvent(tag string, at, record any) (e Event, err error) {
	e.Tag = tag
	switch at := at.(type) {
	case int64:
		e.Time = time.Unix(at, 0)
	case uint64:
		e.Time = time.Unix(int64(at), 0)
	case msgp.Extension:
		var b [8]byte
		if at.ExtensionType() != 0 || at.Len() != len(b) {
			return e, fmt.Errorf("the time is extension %d of %d bytes", at.ExtensionType(), at.Len())
		}
		if err := at.MarshalBinaryTo(b[:]); err != nil {
			return e, err
		}
		e.Nano = true
		e.Time = time.Unix(int64(binary.BigEndian.Uint32(b[:])), int64(binary.BigEndian.Uint32(b[4:])))
	default:
		return e, fmt.Errorf("the time is a %T", at)
	}
	if record == nil {
		return e, nil
	}
	var ok bool
	if e.Record, ok = plain(record).(map[string]any); !ok {
		return e, fmt.Errorf("the record is a %T", record)
	}
	return e, nil
}

// plain converts integers to one type, whatever their wire format: int64, or uint64 for
// larger ones. It changes v.
func plain(v any) any {
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// readOption reads the last element, a map.
func (m *Message) readOption(in *msgp.Reader) error {
	v, err := in.ReadIntf()
	if err != nil {
		return err
	}
	var ok bool
	if m.Option, ok = plain(v).(map[string]any); !ok {
		return fmt.Errorf("the option is a %T, not a map", v)
	}
	if chunk, there := m.Option["chunk"]; there {
		if m.Chunk, ok = chunk.(string); !ok || m.Chunk == "" {
			return fmt.Errorf("chunk is %T %v, not a str with text", chunk, chunk)
		}
	}
	return nil
}

// unpack decodes the entries of the packed modes.
func (m *Message) unpack(packed []byte, count bool) (events []Event, err error) {
	switch algo := m.Option["compressed"]; algo {
	case nil, "text":
	case "gzip", "zstd":
		m.Mode, m.Algo = ModeCompressed, algo.(string)
		if packed, err = m.inflate(packed); err != nil {
			return nil, fmt.Errorf("%s: %w", algo, err)
		}
	default:
		return nil, fmt.Errorf("compressed is %v", algo)
	}
	for len(packed) > 0 {
		n, rest, err := msgp.ReadArrayHeaderBytes(packed)
		if err != nil || n != 2 {
			return nil, fmt.Errorf("entry %d is no array of two (%d, %v)", m.Events, n, err)
		}
		if count {
			packed, err = skipEvent(rest)
		} else {
			var e Event
			e, packed, err = cutEvent(m.Tag, rest)
			events = append(events, e)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", m.Events, err)
		}
		m.Events++
	}
	if size, there := m.Option["size"]; there && size != int64(m.Events) {
		return nil, fmt.Errorf("size is %v of %d events", size, m.Events)
	}
	return events, nil
}

func cutEvent(tag string, b []byte) (e Event, rest []byte, err error) {
	at, b, err := msgp.ReadIntfBytes(b)
	if err != nil {
		return e, nil, err
	}
	record, b, err := msgp.ReadIntfBytes(b)
	if err != nil {
		return e, nil, err
	}
	e, err = newEvent(tag, at, record)
	return e, b, err
}

func skipEvent(b []byte) (rest []byte, err error) {
	if b, err = msgp.Skip(b); err != nil {
		return nil, err
	}
	if t := msgp.NextType(b); t != msgp.MapType && t != msgp.NilType {
		return nil, fmt.Errorf("the record is a %s", t)
	}
	return msgp.Skip(b)
}

// inflate decompresses b, which may have several members, and counts the members of gzip.
func (m *Message) inflate(b []byte) ([]byte, error) {
	if m.Algo == "zstd" {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(b, nil)
	}
	in := bytes.NewReader(b)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for {
		z.Multistream(false)
		if _, err := io.Copy(&out, z); err != nil {
			return nil, err
		}
		m.Members++
		if err := z.Reset(in); errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
	}
}
