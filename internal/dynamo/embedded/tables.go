package embedded

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxTables is the service's limit of tables per account and region.
const maxTables = 2500

// place returns the store's place for ARNs.
func (s *Store) place() catalog.Place { return catalog.Place{Region: s.cfg.Region} }

// readNumber reads the number under key, 0 if there is none.
func (s *Store) readNumber(key []byte) (uint64, error) {
	v, ok, err := s.db.Get(key)
	if !ok || err != nil {
		return 0, err
	}
	defer v.Close()
	return binary.BigEndian.Uint64(v.Bytes), nil
}

// nextID returns a new number of the kind, and adds it to the batch. The caller holds
// Store.schema.
func (s *Store) nextID(b kv.Batch, kind byte) (uint64, error) {
	key := []byte{spaceMeta, kind}
	last, err := s.readNumber(key)
	b.Set(key, binary.BigEndian.AppendUint64(nil, last+1))
	return last + 1, err
}

// Kinds of numbers.
const (
	tableIDs  = 't'
	streamIDs = 's'
)

// member returns the value of the request's member called name, nil if it is missing or
// null.
func (c *call) member(name string) []byte {
	v, ok := wire.Lookup(c.body, name)
	if !ok || wire.Kind(v) == 'n' {
		return nil
	}
	return v
}

// memberText returns the string in the request's member called name.
func (c *call) memberText(name string) string {
	text, _ := wire.AppendString(nil, c.member(name))
	return string(text)
}

// memberCount returns the positive number in the request's member called name, or limit if
// there is none.
func (c *call) memberCount(name string, limit int) int {
	n, err := strconv.Atoi(string(c.member(name)))
	if err != nil {
		return limit
	}
	return min(n, limit)
}

// tableName returns the name of the request's table.
func (c *call) tableName() string {
	name, _ := shape.TableName(c.memberText("TableName"))
	return name
}

// info returns the current description of the table called name.
func (s *Store) info(name string) (*catalog.Table, error) {
	t, err := s.table(name)
	if err != nil {
		return nil, errNoTableNamed(name)
	}
	defer t.mu.RUnlock()
	return t.info, nil
}

// describe appends a description to the reply.
func (c *call) describe(member string, t *catalog.Table) error {
	d, failed := c.describer(t.ID)
	c.out = d.Append(append(c.out, `{"`+member+`":`...), t)
	c.out = append(c.out, '}')
	return *failed
}

// describer returns a Describer for the table with the id. failed is set to the error of a
// failed count.
func (c *call) describer(id uint64) (d catalog.Describer, failed *error) {
	failed = new(error)
	return catalog.Describer{Place: c.s.place(), Now: c.now, Count: func(index uint32) (items, bytes int64) {
		sums, err := kv.ReadSums(c.s.db, counterKey(nil, id, index))
		if err != nil {
			*failed = err
		}
		return sums[0], sums[1]
	}}, failed
}

func (c *call) createTable() error {
	c.s.schema.Lock()
	defer c.s.schema.Unlock()
	streams, err := c.s.newStreams()
	if err != nil {
		return err
	}
	info, err := catalog.Create(c.tableName(), c.body, c.s.place(), c.now, streams)
	if err != nil {
		return err
	}
	if err := c.s.addTable(info); err != nil {
		return err
	}
	return c.describe("TableDescription", info.Creating(c.body))
}

// addTable adds a new table to the catalog. The caller holds Store.schema.
func (s *Store) addTable(info *catalog.Table) error {
	all := *s.tables.Load()
	if all[info.Name] != nil {
		return &wire.Error{Type: "ResourceInUseException", Message: "Table already exists: " + info.Name}
	}
	if len(all) >= maxTables {
		return &wire.Error{Type: "LimitExceededException",
			Message: fmt.Sprintf("Subscriber limit exceeded: There is a limit of %d tables per subscriber", maxTables)}
	}
	if err := s.writable(false); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	id, err := s.nextID(b, tableIDs)
	if err != nil {
		return err
	}
	info.ID, info.UUID = id, catalog.NewUUID()
	t := &table{id: id, info: info}
	if info.Stream != nil {
		if t.stream, err = s.openStream(b, info); err != nil {
			return err
		}
	}
	if err := writeTable(b, info); err != nil {
		return err
	}
	if err := s.db.Apply(b); err != nil {
		return err
	}
	if t.stream != nil {
		s.streams.add(t.stream)
	}
	s.publish(t)
	return s.db.Wait(b)
}

func (c *call) describeTable() error {
	info, err := c.s.info(c.tableName())
	if err != nil {
		return err
	}
	return c.describe("Table", c.inState(info))
}

func (c *call) listTables() error {
	all := *c.s.tables.Load()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	names = c.withDeleting(names)
	if start := c.memberText("ExclusiveStartTableName"); start != "" {
		at, found := slices.BinarySearch(names, start)
		if found {
			at++
		}
		names = names[at:]
	}
	limit := c.memberCount("Limit", 100)
	more := len(names) > limit
	names = names[:min(limit, len(names))]
	c.out = append(c.out, `{"TableNames":[`...)
	for i, name := range names {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = wire.AppendQuoted(c.out, []byte(name))
	}
	c.out = append(c.out, ']')
	if more {
		c.out = append(c.out, `,"LastEvaluatedTableName":`...)
		c.out = wire.AppendQuoted(c.out, []byte(names[limit-1]))
	}
	c.out = append(c.out, '}')
	return nil
}

// inUse returns the error for a change that conflicts with one in progress.
func inUse(message string) *wire.Error {
	return &wire.Error{Type: "ResourceInUseException", Message: "Attempt to change a resource which is still in use: " + message}
}

func (c *call) deleteTable() error {
	s, name := c.s, c.tableName()
	s.schema.Lock()
	defer s.schema.Unlock()
	t := (*s.tables.Load())[name]
	if t == nil {
		return errNoTableNamed(name)
	}
	info := t.info
	if info.Protected {
		return wire.Invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	if info.Filling() != nil {
		return inUse("Cannot delete table while indexes are being created, updated, or deleted.")
	}
	d, failed := c.describer(info.ID)
	c.out = append(d.AppendDeleting(append(c.out, `{"TableDescription":`...), info), '}')
	if *failed != nil {
		return *failed
	}
	return s.dropTable(t, c.now)
}

// dropTable removes a table and all its data, except for its stream, which it closes. The
// caller holds Store.schema.
func (s *Store) dropTable(t *table, now time.Time) error {
	b := s.db.NewBatch()
	defer b.Close()
	b.Delete(appendTable(nil, spaceCatalog, t.id))
	for _, space := range []byte{spaceCounter, spaceTable, spaceExpiry, spaceCursor} {
		prefix := appendTable(nil, space, t.id)
		b.DeleteRange(prefix, prefixEnd(nil, prefix))
	}
	if err := s.uninstall(t, b, now); err != nil {
		return err
	}
	return s.db.Wait(b)
}

// uninstall applies the batch in which a table is removed, and retracts the table.
func (s *Store) uninstall(t *table, b kv.Batch, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := s.applyClosing(t, b, now); err != nil {
		return err
	}
	t.deleted = true
	s.retract(t.info.Name)
	return nil
}

// alter replaces the description of the table called name by the result of f. f may add to
// the batch in which the description is written. The table is not written to while the batch
// is applied. Store.schema is held throughout.
func (s *Store) alter(name string, now time.Time, f func(info *catalog.Table, b kv.Batch) (*catalog.Table, error)) error {
	s.schema.Lock()
	defer s.schema.Unlock()
	t := (*s.tables.Load())[name]
	if t == nil {
		return errNoTableNamed(name)
	}
	if err := s.writable(false); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	next, err := f(t.info, b)
	if err != nil {
		return err
	}
	var opened *stream
	if t.info.Stream == nil && next.Stream != nil {
		if opened, err = s.openStream(b, next); err != nil {
			return err
		}
	}
	if err := writeTable(b, next); err != nil {
		return err
	}
	if err := s.install(t, next, opened, b, now); err != nil {
		return err
	}
	return s.db.Wait(b)
}

// install applies the batch and makes next the description of the table.
func (s *Store) install(t *table, next *catalog.Table, opened *stream, b kv.Batch, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next.Stream == nil {
		if err := s.applyClosing(t, b, now); err != nil {
			return err
		}
		t.info = next
		return nil
	}
	if err := s.db.Apply(b); err != nil {
		return err
	}
	if opened != nil {
		s.streams.add(opened)
		t.stream = opened
	}
	t.info = next
	return nil
}

// applyClosing applies a batch that also closes the table's stream, if it has one. The
// caller holds table.mu for writing.
func (s *Store) applyClosing(t *table, b kv.Batch, now time.Time) error {
	if t.stream == nil {
		return s.db.Apply(b)
	}
	closed := t.stream.closedInfo(now)
	if err := writeStream(b, closed); err != nil {
		return err
	}
	if err := s.db.Apply(b); err != nil {
		return err
	}
	t.stream.info.Store(closed)
	t.stream = nil
	return nil
}

func (c *call) updateTable() error {
	r, err := catalog.ReadUpdate(c.body, c.s.place())
	if err != nil {
		return err
	}
	var change catalog.Change
	err = c.s.alter(c.tableName(), c.now, func(info *catalog.Table, b kv.Batch) (*catalog.Table, error) {
		streams, err := c.s.newStreams()
		if err != nil {
			return nil, err
		}
		if change, err = r.Apply(info, c.now, streams); err != nil {
			return nil, err
		}
		if x := change.Deleted; x != nil {
			entries := appendIndex(nil, info.ID, x.ID)
			b.DeleteRange(entries, prefixEnd(nil, entries))
			b.Delete(counterKey(nil, info.ID, x.ID))
			b.Delete(cursorKey(nil, info.ID, x.ID))
		}
		return change.Table, nil
	})
	if err != nil {
		return err
	}
	if change.Created != nil {
		c.s.backfill.wake()
	}
	return c.describe("TableDescription", change.Reply)
}
