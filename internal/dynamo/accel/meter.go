package accel

import (
	"context"
	"hash/crc32"
	"math"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// meter is an origin whose use is accounted for. It asks for the capacity that each request
// consumes, and removes that from the answer unless the request asks for it itself. Meters of the
// same origin are equal.
type meter struct {
	Origin
	service string
	ledger  *ledger.Ledger
}

// BypassCache implements bypasser.
func (m meter) BypassCache() bool {
	o, ok := m.Origin.(bypasser)
	return ok && o.BypassCache()
}

// Do implements Origin.
func (m meter) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	op := meteredOperation(r)
	if op == nil {
		return m.Origin.Do(ctx, r)
	}
	asked, body, ok := askCapacity(r.Body)
	if !ok {
		return m.Origin.Do(ctx, r) // left for the origin to refuse
	}
	sent := *r
	sent.Body = body
	resp, err := m.Origin.Do(ctx, &sent)
	if err != nil || resp.Class != origin.Good {
		return resp, err
	}
	m.charge(r, op, resp)
	if !asked {
		hideCapacity(resp)
	}
	return resp, nil
}

// meteredOperation returns the operation of a request whose answer can have the capacity that it
// has consumed, or nil.
func meteredOperation(r *origin.Request) *wire.Operation {
	if r.Path != "/" {
		return nil
	}
	op, known := wire.FindOperation(r.Header.Get("X-Amz-Target"))
	if !known {
		return nil
	}
	switch op.Kind {
	case wire.GetItem, wire.BatchGetItem, wire.Query, wire.Scan, wire.PutItem, wire.UpdateItem, wire.DeleteItem,
		wire.BatchWriteItem, wire.TransactWriteItems, wire.ExecuteStatement, wire.BatchExecuteStatement, wire.ExecuteTransaction:
		return op
	}
	if op.Name == "TransactGetItems" {
		return op
	}
	return nil
}

// askCapacity returns a request that asks for its capacity. asked reports that it does so itself.
// ok is false for a request that is invalid.
func askCapacity(body []byte) (asked bool, with []byte, ok bool) {
	const name = "ReturnConsumedCapacity"
	value, ok := memberOf(body, name)
	switch {
	case !ok:
		return false, nil, false
	case value == nil, isText(value, "NONE"):
		with, ok = wire.SetMember(nil, body, name, []byte(`"INDEXES"`))
		return false, with, ok
	}
	return true, body, true
}

// hideCapacity removes the capacity from an answer, which it changes in place.
func hideCapacity(resp *origin.Response) {
	before := len(resp.Body)
	body, ok := wire.WithoutMember(resp.Body[:0], resp.Body, "ConsumedCapacity")
	if !ok || len(body) == before {
		return
	}
	resp.Body = body
	for i := range resp.Header {
		if f := &resp.Header[i]; f.Is(fieldCRC) {
			f.Value = strconv.AppendUint(nil, uint64(crc32.ChecksumIEEE(body)), 10)
		}
	}
}

// charge accounts for the capacity in an answer: an object, or a list with one for each table.
func (m meter) charge(r *origin.Request, op *wire.Operation, resp *origin.Response) {
	consumed, ok := memberOf(resp.Body, "ConsumedCapacity")
	if !ok || consumed == nil {
		return
	}
	use := ledger.Use{Service: m.service, Operation: op.Name, Principal: r.Principal, Shape: r.Shape}
	if wire.Kind(consumed) == '{' {
		resp.Consumed = m.chargeTable(use, consumed, r.Repeatable)
		return
	}
	tables := wire.Array(consumed)
	for tables.Next() {
		resp.Consumed += m.chargeTable(use, tables.Value(), r.Repeatable)
	}
}

// chargeTable accounts for the capacity of one table: that of the table itself and of each index
// if they are listed, else its sum. It returns the sum in halves of a unit.
func (m meter) chargeTable(use ledger.Use, consumed []byte, read bool) (sum uint64) {
	quoted, _ := wire.Lookup(consumed, "TableName")
	name, ok := wire.AppendExact(nil, quoted)
	if !ok {
		return 0
	}
	use.Table = string(tableOf(name))
	listed := false
	part := func(index string, units []byte) {
		listed = true
		use.Index = index
		use.Read, use.Write = capacityOf(units, read)
		sum += use.Read + use.Write
		m.ledger.Used(use)
	}
	it := wire.Object(consumed)
	for it.Next() {
		switch {
		case wire.NameIs(it.Name(), "Table"):
			part("", it.Value())
		case wire.NameIs(it.Name(), "LocalSecondaryIndexes"), wire.NameIs(it.Name(), "GlobalSecondaryIndexes"):
			indexes := wire.Object(it.Value())
			for indexes.Next() {
				index, _ := wire.AppendExact(nil, indexes.QuotedName())
				part(string(index), indexes.Value())
			}
		}
	}
	if !listed {
		part("", consumed)
	}
	return sum
}

// capacityOf returns the units in an object, in halves. Transactions name the units of reads and
// of writes; all other requests have only one kind.
func capacityOf(object []byte, readOnly bool) (read, write uint64) {
	var all uint64
	it := wire.Object(object)
	for it.Next() {
		switch {
		case wire.NameIs(it.Name(), "ReadCapacityUnits"):
			read = halves(it.Value())
		case wire.NameIs(it.Name(), "WriteCapacityUnits"):
			write = halves(it.Value())
		case wire.NameIs(it.Name(), "CapacityUnits"):
			all = halves(it.Value())
		}
	}
	switch {
	case read+write > 0:
		return read, write
	case readOnly:
		return all, 0
	}
	return 0, all
}

// halves returns a number of units in halves, 0 if it is no number.
func halves(number []byte) uint64 {
	units, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !(units >= 0 && units < 1e12) {
		return 0
	}
	return uint64(math.Round(2 * units))
}
