package catalog

import (
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Describer writes descriptions of tables.
type Describer struct {
	Place Place
	Now   time.Time
	// Count returns the number of items and their size in bytes, of the table (index 0) or
	// of one of its indexes.
	Count func(index uint32) (items, bytes int64)
}

// object writes a JSON object member by member.
type object struct {
	dst   []byte
	first bool
}

func open(dst []byte) *object { return &object{append(dst, '{'), true} }

func (o *object) close() []byte { return append(o.dst, '}') }

// name begins a member; its value follows.
func (o *object) name(name string) {
	if !o.first {
		o.dst = append(o.dst, ',')
	}
	o.first = false
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.dst = wire.AppendQuoted(o.dst, []byte(value))
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.dst = strconv.AppendInt(o.dst, n, 10)
}

func (o *object) flag(name string, b bool) {
	o.name(name)
	o.dst = strconv.AppendBool(o.dst, b)
}

// time writes seconds with a fraction; nothing for nil.
func (o *object) time(name string, t *time.Time) {
	if t != nil {
		o.name(name)
		o.dst = AppendTime(o.dst, *t)
	}
}

// pair writes an object of the numbers that are not zero, or nothing if both are zero.
func (o *object) pair(name, first string, a int64, second string, b int64) {
	if a == 0 && b == 0 {
		return
	}
	o.name(name)
	in := open(o.dst)
	if a != 0 {
		in.number(first, a)
	}
	if b != 0 {
		in.number(second, b)
	}
	o.dst = in.close()
}

func each[T any](o *object, name string, all []T, write func(o *object, t T)) {
	o.name(name)
	o.dst = append(o.dst, '[')
	for i, t := range all {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		in := open(o.dst)
		write(in, t)
		o.dst = in.close()
	}
	o.dst = append(o.dst, ']')
}

// AppendTime appends a time as the API formats it: seconds since 1970 with three digits of a
// fraction.
func AppendTime(dst []byte, t time.Time) []byte {
	ms := t.UnixMilli()
	dst = strconv.AppendInt(dst, ms/1000, 10)
	dst = append(dst, '.')
	frac := strconv.AppendInt(nil, 1000+ms%1000, 10)
	return append(dst, frac[1:]...)
}

// Append appends the description of a table.
func (d *Describer) Append(dst []byte, t *Table) []byte {
	o := open(dst)
	d.appendSchema(o, t)
	d.appendState(o, t)
	var local, global []*Index
	for _, x := range t.Indexes {
		if x.Local {
			local = append(local, x)
		} else {
			global = append(global, x)
		}
	}
	if local != nil {
		each(o, "LocalSecondaryIndexes", local, func(o *object, x *Index) { d.appendIndex(o, t, x) })
	}
	if global != nil {
		each(o, "GlobalSecondaryIndexes", global, func(o *object, x *Index) { d.appendIndex(o, t, x) })
	}
	if len(t.Vectors) > 0 {
		each(o, "VectorIndexes", t.Vectors, func(o *object, x *Index) { d.appendVector(o, t, x) })
	}
	return o.close()
}

// AppendDeleting appends the description of a deleted table, with the item counts from
// before.
func (d *Describer) AppendDeleting(dst []byte, t *Table) []byte {
	deleted := *t
	deleted.Status = Deleting
	o := open(dst)
	d.appendState(o, &deleted)
	return o.close()
}

// appendSchema writes the members, except for indexes, that the description of a deleted
// table lacks.
func (d *Describer) appendSchema(o *object, t *Table) {
	each(o, "AttributeDefinitions", t.Attributes(), func(o *object, a Attribute) {
		o.text("AttributeName", a.Name)
		o.text("AttributeType", a.Type.String())
	})
	appendKey(o, &t.Key)
	o.time("CreationDateTime", &t.Created)
}

// appendKey writes a KeySchema.
func appendKey(o *object, k *Key) {
	hashes, i := len(k.Hash), 0
	all := make([]Attribute, 0, k.Len())
	for a := range k.All() {
		all = append(all, a)
	}
	each(o, "KeySchema", all, func(o *object, a Attribute) {
		o.text("AttributeName", a.Name)
		kind := "HASH"
		if i >= hashes {
			kind = "RANGE"
		}
		i++
		o.text("KeyType", kind)
	})
}

// AppendKeySchema appends a key as a KeySchema member: `"KeySchema":[...]`.
func AppendKeySchema(dst []byte, k *Key) []byte {
	o := &object{dst, true}
	appendKey(o, k)
	return o.dst
}

func (d *Describer) appendState(o *object, t *Table) {
	o.text("TableName", t.Name)
	o.text("TableStatus", string(t.Status))
	o.text("TableArn", d.Place.Table(t.Name))
	o.text("TableId", t.UUID)
	items, bytes := d.Count(0)
	o.number("ItemCount", items)
	o.number("TableSizeBytes", bytes)
	d.appendProvisioned(o, &t.Capacity)
	if t.PerRequestSince != nil || t.Billing == PayPerRequest {
		o.name("BillingModeSummary")
		in := open(o.dst)
		in.text("BillingMode", string(t.Billing))
		in.time("LastUpdateToPayPerRequestDateTime", t.PerRequestSince)
		o.dst = in.close()
	}
	appendLimits(o, &t.Capacity)
	o.flag("DeletionProtectionEnabled", t.Protected)
	if t.Class != "" {
		o.name("TableClassSummary")
		in := open(o.dst)
		in.text("TableClass", t.Class)
		in.time("LastUpdateDateTime", t.ClassChanged)
		o.dst = in.close()
	}
	if e := t.Encryption; e != nil {
		o.name("SSEDescription")
		in := open(o.dst)
		in.text("Status", string(Enabled))
		in.text("SSEType", "KMS")
		in.text("KMSMasterKeyArn", e.Key)
		o.dst = in.close()
	}
	d.appendStream(o, t)
}

func (d *Describer) appendStream(o *object, t *Table) {
	if t.Stream != nil {
		o.name("StreamSpecification")
		in := open(o.dst)
		in.flag("StreamEnabled", true)
		in.text("StreamViewType", string(t.Stream.View))
		o.dst = in.close()
	}
	if t.LatestStream != "" {
		o.text("LatestStreamLabel", t.LatestStream)
		o.text("LatestStreamArn", d.Place.Stream(t.Name, t.LatestStream))
	}
}

func (d *Describer) appendProvisioned(o *object, c *Capacity) {
	o.name("ProvisionedThroughput")
	in := open(o.dst)
	in.time("LastIncreaseDateTime", c.Increased)
	in.time("LastDecreaseDateTime", c.Decreased)
	in.number("NumberOfDecreasesToday", int64(c.decreases(d.Now)))
	in.number("ReadCapacityUnits", c.Provisioned.Read)
	in.number("WriteCapacityUnits", c.Provisioned.Write)
	o.dst = in.close()
}

// appendLimits writes the optional capacities of a description.
func appendLimits(o *object, c *Capacity) {
	o.pair("OnDemandThroughput", "MaxReadRequestUnits", c.OnDemand.Read, "MaxWriteRequestUnits", c.OnDemand.Write)
	if c.Warm != (Throughput{}) {
		o.name("WarmThroughput")
		in := open(o.dst)
		in.number("ReadUnitsPerSecond", c.Warm.Read)
		in.number("WriteUnitsPerSecond", c.Warm.Write)
		in.text("Status", string(Active))
		o.dst = in.close()
	}
}

func (d *Describer) appendIndex(o *object, t *Table, x *Index) {
	o.text("IndexName", x.Name)
	appendKey(o, &x.Key)
	appendProjection(o, &x.Projection)
	d.appendIndexState(o, t, x)
	if x.Local {
		return
	}
	d.appendProvisioned(o, &x.Capacity)
	appendLimits(o, &x.Capacity)
}

// appendIndexState appends the size, the ARN and, except of a local index, the status.
func (d *Describer) appendIndexState(o *object, t *Table, x *Index) {
	items, bytes := d.Count(x.ID)
	o.number("IndexSizeBytes", bytes)
	o.number("ItemCount", items)
	o.text("IndexArn", d.Place.Index(t.Name, x.Name))
	if x.Local {
		return
	}
	o.text("IndexStatus", string(x.Status))
	if x.Status == Creating && t.Status != Creating {
		o.flag("Backfilling", x.Backfilling)
	}
}

func appendProjection(o *object, p *Projection) {
	o.name("Projection")
	in := open(o.dst)
	in.text("ProjectionType", string(p.Type))
	if p.NonKey != nil {
		in.name("NonKeyAttributes")
		in.dst = append(in.dst, '[')
		for i, name := range p.NonKey {
			if i > 0 {
				in.dst = append(in.dst, ',')
			}
			in.dst = wire.AppendQuoted(in.dst, []byte(name))
		}
		in.dst = append(in.dst, ']')
	}
	o.dst = in.close()
}
