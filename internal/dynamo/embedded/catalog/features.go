package catalog

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// streamSpec is a StreamSpecification.
type streamSpec struct {
	enabled bool
	view    ViewType // empty if it is missing
}

// readStreamSpec reads a StreamSpecification; nil for none.
func readStreamSpec(v []byte) (*streamSpec, error) {
	if v == nil {
		return nil, nil
	}
	m, err := members(v, "StreamEnabled", "StreamViewType")
	if err != nil {
		return nil, err
	}
	return &streamSpec{flag(m[0]), ViewType(text(m[1]))}, nil
}

// checkNew checks the stream of a new table.
func (s *streamSpec) checkNew() error {
	switch {
	case s == nil:
	case s.enabled && s.view == "":
		return invalid("Table is being created with a stream enabled, UpdateViewType is required")
	case !s.enabled && s.view != "":
		return invalid("Table is being created with a stream disabled, UpdateViewType should not be specified")
	}
	return nil
}

// checkChange makes the checks of a stream change that need no table.
func (s *streamSpec) checkChange() error {
	switch {
	case s == nil:
	case s.enabled && s.view == "":
		return invalid("If stream is being enabled then UpdateViewType is required")
	case !s.enabled && s.view != "":
		return invalid("If stream is being disabled, then UpdateViewType must not be specified")
	}
	return nil
}

// labelFormat is the time format of a stream's label.
const labelFormat = "2006-01-02T15:04:05.000"

// Streams is the state of a store on which a new stream depends.
type Streams struct {
	Latest string // label of the newest stream so far; empty if there was none
	Shards int    // of a new stream; less than 1 means 1
}

// openStream adds a new stream, without its ID, to a table that is not published yet. Its
// label is later than the latest one, so that an ARN is unique even if the clock was set back.
func (t *Table) openStream(view ViewType, now time.Time, streams Streams) {
	begin := now.UTC()
	if last, err := time.Parse(labelFormat, streams.Latest); err == nil && !begin.Truncate(time.Millisecond).After(last) {
		begin = last.Add(time.Millisecond)
	}
	label := begin.Format(labelFormat)
	t.LatestStream = label
	t.Stream = &Stream{
		Table: t.Name, Label: label, View: view, Key: t.Key, Created: now,
		Start: uint64(now.UnixMicro()),
	}
	t.Stream.open(streams.Shards, begin)
}

// encryptionSpec is an SSESpecification.
type encryptionSpec struct {
	named   bool // the request has Enabled
	enabled bool
	typ     string
	id      string // KMSMasterKeyId
	key     string // the ARN of the requested key
}

// readEncryption reads an SSESpecification; nil for none.
func readEncryption(v []byte, p Place) (*encryptionSpec, error) {
	if v == nil {
		return nil, nil
	}
	m, err := members(v, "Enabled", "SSEType", "KMSMasterKeyId")
	if err != nil {
		return nil, err
	}
	e := &encryptionSpec{named: m[0] != nil, enabled: flag(m[0]), typ: text(m[1]), id: text(m[2])}
	e.key = p.key(e.id)
	return e, nil
}

func (e *encryptionSpec) check() error {
	switch {
	case e == nil:
	case e.named && !e.enabled && e.typ != "":
		return invalid("SSEType can not be specified if Enabled is false")
	case e.named && !e.enabled && e.id != "":
		return invalid("KMSMasterKeyId can not be specified if Enabled is false")
	case e.typ == "AES256":
		return invalid("SSEType AES256 is not supported")
	case e.id != "" && e.typ != "KMS":
		return invalid("SSEType KMS is required if KMSMasterKeyId is specified")
	}
	return nil
}

// result returns the requested encryption, nil for the service's own key.
func (e *encryptionSpec) result() *Encryption {
	if e == nil || !e.enabled && e.typ != "KMS" {
		return nil
	}
	return &Encryption{Key: e.key}
}

// checkChange refuses a request that does not change the encryption.
func (e *encryptionSpec) checkChange(now *Encryption) error {
	next := e.result()
	switch {
	case next == nil && now == nil:
		return invalid("Table is already encrypted by default")
	case next != nil && now != nil && e.id == now.Key:
		return invalid("Table is already encrypted with given KMSMasterKeyId. " +
			"Use KMSMasterKeyId parameter if you want to change Master Key")
	}
	return nil
}

// TTLRequest is an UpdateTimeToLive request.
type TTLRequest struct {
	Enabled   bool
	Attribute string
}

// ReadTTL reads the body of an UpdateTimeToLive request.
func ReadTTL(body []byte) (TTLRequest, error) {
	m, err := members(body, "TimeToLiveSpecification")
	if err != nil {
		return TTLRequest{}, err
	}
	m, err = members(m[0], "Enabled", "AttributeName")
	if err != nil {
		return TTLRequest{}, err
	}
	return TTLRequest{flag(m[0]), text(m[1])}, nil
}

// The service lets a time to live be changed about once an hour, which would be a nuisance
// on a laptop. This limit only stops a program that changes it endlessly.
const (
	ttlInterval = time.Hour
	ttlChanges  = 100
)

// SetTTL returns the table after the change that r requests.
func (t *Table) SetTTL(r TTLRequest, now time.Time) (*Table, error) {
	switch {
	case t.TTL == nil && !r.Enabled:
		return nil, wire.Invalid("TimeToLive is already disabled")
	case t.TTL != nil && t.TTL.Attribute != r.Attribute:
		return nil, wire.Invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TTL.Attribute)
	case t.TTL != nil && r.Enabled:
		return nil, wire.Invalid("TimeToLive is already enabled")
	}
	next := *t
	next.TTLChanges = nil
	for _, change := range t.TTLChanges {
		if now.Sub(change) < ttlInterval {
			next.TTLChanges = append(next.TTLChanges, change)
		}
	}
	if len(next.TTLChanges) >= ttlChanges {
		return nil, wire.Invalid("Time to live has been modified multiple times within a fixed interval")
	}
	next.TTLChanges = append(next.TTLChanges, now)
	next.TTL = nil
	if r.Enabled {
		next.TTL = &TTL{Attribute: r.Attribute, Backfilling: true}
	}
	return &next, nil
}
