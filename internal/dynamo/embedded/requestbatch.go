package embedded

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var (
	batchGetFields      = fieldsOf(fieldRequestItems, fieldCapacity)
	batchGetTableFields = fieldsOf(fieldKeys, fieldConsistent, fieldProjection, fieldNames, fieldAttributesToGet)
	batchWriteFields    = fieldsOf(fieldRequestItems, fieldCapacity, fieldMetrics)
	writeRequestFields  = fieldsOf(fieldPutRequest, fieldDeleteRequest)
)

// The maximum numbers of items in a batch.
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
)

// batchEntry is the entry of a batch for one table.
type batchEntry struct {
	named string
	value []byte
}

// batchEntries reads RequestItems. Of several entries with one name the last counts.
func batchEntries(object []byte) (entries []batchEntry) {
	for it := wire.Object(object); it.Next(); {
		e := batchEntry{string(decodedName(it.Name())), it.Value()}
		if i := slices.IndexFunc(entries, func(o batchEntry) bool { return o.named == e.named }); i >= 0 {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	return entries
}

// elements returns the texts of the elements of a list.
func elements(list []byte) (texts [][]byte) {
	for it := wire.Array(list); it.Next(); {
		texts = append(texts, it.Value())
	}
	return texts
}

func parseBatchGetItem(body []byte) (batchGetRequest, error) {
	r, err := readBatchGetItem(body)
	return r, newer(err)
}

func readBatchGetItem(body []byte) (r batchGetRequest, err error) {
	var f fields
	readFields(&f, body, batchGetFields)
	r.Capacity = f.capacity()
	entries := batchEntries(f.values[fieldRequestItems])
	total, styles := 0, fields{}
	r.Tables = make([]batchGetTable, len(entries))
	for i, e := range entries {
		readFields(&f, e.value, batchGetTableFields)
		styles.given |= f.given
		r.Tables[i].Table, r.Tables[i].Named = tableOf(e.named)
		r.Tables[i].KeyTexts = elements(f.values[fieldKeys])
		total += len(r.Tables[i].KeyTexts)
	}
	if total > maxBatchGet {
		return r, wire.Invalid("Too many items requested for the BatchGetItem call")
	}
	if err := styles.checkMixing(); err != nil { // also between different tables
		return r, err
	}
	for i, e := range entries {
		readFields(&f, e.value, batchGetTableFields)
		if err := r.Tables[i].read(&f); err != nil {
			return r, err
		}
	}
	for i := range r.Tables {
		if r.Tables[i].hasDuplicates() {
			return r, errDuplicateKeys
		}
	}
	return r, nil
}

// read reads the members of the entry.
func (t *batchGetTable) read(f *fields) (err error) {
	t.Consistent, t.Rest = f.flag(fieldConsistent), f.appendRest(nil)
	if err := f.checkAlone(); err != nil {
		return err
	}
	t.Keys = make([]value.Value, len(t.KeyTexts))
	for i, text := range t.KeyTexts {
		if t.Keys[i], err = value.ParseItem(text); err != nil {
			return err
		}
	}
	if t.Projection, err = f.attributesToGet(); err != nil || t.Projection != nil {
		return err
	}
	x, err := f.parse()
	t.Projection = x.projection
	return err
}

// appendRest appends all members except the keys.
func (f *fields) appendRest(dst []byte) []byte {
	for i, v := range f.values {
		if v != nil && field(i) != fieldKeys {
			dst = append(append(append(dst, ',', '"'), fieldText[i]...), '"', ':')
			dst = append(dst, v...)
		}
	}
	return dst
}

// hasDuplicates reports whether two keys are equal. Numbers are compared as they are
// written: two spellings of one number differ.
func (t *batchGetTable) hasDuplicates() bool {
	if len(t.Keys) < 2 {
		return false
	}
	seen := make(map[string]bool, len(t.Keys))
	var buf []byte
	for i := range t.Keys {
		buf = appendWritten(buf[:0], &t.Keys[i], t.KeyTexts[i])
		if seen[string(buf)] {
			return true
		}
		seen[string(buf)] = true
	}
	return false
}

// appendWritten appends a canonical form of a key that was read from text: attributes in the
// order of their names, numbers as they are written.
func appendWritten(dst []byte, key *value.Value, text []byte) []byte {
	var buf [2]value.Member
	members := append(buf[:0], key.Members...)
	slices.SortFunc(members, func(a, b value.Member) int { return strings.Compare(a.Name, b.Name) })
	for i := range members {
		v := members[i].Value
		if v.Type == value.Number {
			v.Text = writtenNumber(text, members[i].Name)
		}
		dst = wire.AppendQuoted(dst, []byte(members[i].Name))
		dst = v.Append(dst)
	}
	return dst
}

// writtenNumber returns the number called name of a key as it is written. Of several members
// with that name the last counts, as for its value.
func writtenNumber(key []byte, name string) (number []byte) {
	for it := wire.Object(key); it.Next(); {
		if !wire.NameIs(it.Name(), name) {
			continue
		}
		for v := wire.Object(it.Value()); v.Next(); {
			if wire.NameIs(v.Name(), "N") && wire.Kind(v.Value()) == '"' {
				number = stringText(v.Value())
			}
		}
	}
	return number
}

func parseBatchWriteItem(body []byte) (r batchWriteRequest, err error) {
	var f fields
	readFields(&f, body, batchWriteFields)
	r.Capacity, r.Metrics = f.capacity(), f.metrics()
	total := 0
	for _, e := range batchEntries(f.values[fieldRequestItems]) {
		t := batchWriteTable{Texts: elements(e.value)}
		t.Table, t.Named = tableOf(e.named)
		r.Tables = append(r.Tables, t)
		total += len(t.Texts)
	}
	if total > maxBatchWrite {
		return r, wire.Invalid("Too many items requested for the BatchWriteItem call")
	}
	for i := range r.Tables {
		if err := r.Tables[i].read(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// read reads the writes.
func (t *batchWriteTable) read() error {
	t.Writes = make([]writeRequest, len(t.Texts))
	for i, text := range t.Texts {
		t.Writes[i] = writeRequest{Table: t.Table, Named: t.Named}
		if err := t.Writes[i].readRequest(text); err != nil {
			return err
		}
	}
	return nil
}

var (
	errNoWrite  = wire.Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errTwoWrite = wire.Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
)

// readRequest reads {"PutRequest":{"Item":{...}}} or {"DeleteRequest":{"Key":{...}}}.
func (w *writeRequest) readRequest(object []byte) error {
	var f fields
	readFields(&f, object, writeRequestFields)
	put, del := f.values[fieldPutRequest], f.values[fieldDeleteRequest]
	switch {
	case put == nil && del == nil:
		return errNoWrite
	case put != nil && del != nil:
		return errTwoWrite
	case put != nil:
		w.Kind = writePut
		readFields(&f, put, fieldsOf(fieldItem))
		if err := w.readItem(f.values[fieldItem]); err != nil {
			return err
		}
		return w.checkSize()
	}
	w.Kind = writeDelete
	readFields(&f, del, fieldsOf(fieldKey))
	return w.readItem(f.values[fieldKey])
}
