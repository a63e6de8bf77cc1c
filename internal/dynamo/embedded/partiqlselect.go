package embedded

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxPageReads is the maximum number of reads in a page: DynamoDB answers a SELECT with many
// keys in pages.
const maxPageReads = 10

// selectRun executes a SELECT with one reading for each of its reads in turn.
//
// It is used as follows: 1) begin checks the statement against the schema and plans the
// reads. 2) resume finds the end of an earlier page. 3) answer reads a page and appends the
// items.
type selectRun struct {
	reading
	cmd   *partiql.Command
	plan  planner
	reads []read
	at    int // index of the current read
	// counted is the part of the page's size that has been counted in units. Each read is
	// counted separately.
	counted int
	units   float64
}

// read is one part of a SELECT: a whole table or index, or a range within one partition.
type read struct {
	hash         *value.Value // nil for the whole
	lower, upper []byte
	negates      bool
}

// executeSelect answers an ExecuteStatement that reads.
func (c *call) executeSelect(r *executeRequest, cmd *partiql.Command) error {
	table, named := tableOf(cmd.Table)
	t, err := c.s.table(table)
	if err != nil {
		return errStatementTable(named)
	}
	defer t.mu.RUnlock()
	s := &selectRun{cmd: cmd}
	s.req = &queryRequest{Table: table, Named: named, Index: cmd.Index, Limit: r.Limit, Consistent: r.Consistent, Capacity: r.Capacity}
	if err := s.begin(t); err != nil {
		return err
	}
	token := &nextToken{request: r.identity()}
	if r.NextToken != "" {
		if err := token.parse(r.NextToken); err != nil {
			return err
		}
		if err := s.resume(token); err != nil {
			return err
		}
	}
	return s.answer(c, token)
}

// begin checks the statement against the schema and plans the reads.
func (s *selectRun) begin(t *table) error {
	s.t, s.key, s.statement = t, &t.info.Key, true
	if err := s.findStatementIndex(); err != nil {
		return err
	}
	s.listKey()
	s.plan.key = s.key
	if err := s.checkPaths(); err != nil {
		return err
	}
	if err := s.checkColumns(); err != nil {
		return err
	}
	if s.cmd.Where == nil || !s.plan.fixesPartition(s.cmd.Where.Root) {
		if err := s.checkOrder(nil); err != nil {
			return err
		}
		s.req.Scan = true
		s.req.Filter = s.cmd.Where
		s.setScanBounds()
		s.reads = []read{{lower: s.lower, upper: s.upper}}
	} else if err := s.planReads(); err != nil {
		return err
	}
	if s.req.Filter != nil {
		s.filterNames = rootNames(s.req.Filter.Paths())
	}
	return nil
}

var errManyKeys = wire.Invalid("PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.")

// findStatementIndex is findIndex with the errors for statements.
func (s *selectRun) findStatementIndex() error {
	if s.req.Index == "" {
		return nil
	}
	x := s.t.info.Index(s.req.Index)
	switch {
	case x == nil:
		return wire.Invalid("The table does not have the specified index")
	case x.Key.Multiple():
		return errManyKeys
	case !x.Local && s.req.Consistent:
		return wire.Invalid("Strongly consistent read is not supported on Global Secondary Indexes")
	}
	return s.findIndex()
}

// checkPaths refuses paths that lead into key attributes.
func (s *selectRun) checkPaths() error {
	var paths []expr.Path
	for _, c := range s.cmd.Columns {
		paths = append(paths, c.Path)
	}
	if s.cmd.Where != nil {
		paths = append(paths, s.cmd.Where.Paths()...)
	}
	return checkScalars(s.t.info, paths)
}

// checkColumns finds the source of the columns.
func (s *selectRun) checkColumns() error {
	if s.cmd.Columns == nil {
		return nil
	}
	paths := make([]expr.Path, len(s.cmd.Columns))
	whole := true
	for i, c := range s.cmd.Columns {
		paths[i] = c.Path
		whole = whole && len(c.Path) == 1
	}
	if whole {
		s.selection = selectionOf(paths)
	} else {
		s.columns = s.cmd.Columns
	}
	if s.x == nil {
		return nil
	}
	missing := s.unprojected(rootNames(paths))
	if len(missing) > 0 && !s.x.Local {
		return wire.Invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", s.x.Name, strings.Join(missing, ", "))
	}
	s.fetch = len(missing) > 0
	return nil
}

// planReads splits the WHERE clause into reads by key.
func (s *selectRun) planReads() error {
	root := s.cmd.Where.Root
	if s.plan.count(root) > maxReads {
		return errManyReads
	}
	branches := s.plan.branches(root)
	for i := range branches {
		if err := branches[i].check(s.key, s.req.Index); err != nil {
			return err
		}
	}
	if err := s.checkOrder(branches); err != nil {
		return err
	}
	if err := s.checkFilters(branches); err != nil {
		return err
	}
	for i := range branches {
		s.addRead(&branches[i])
		if len(branches[i].filters) > 0 {
			s.req.Filter = s.cmd.Where
		}
	}
	if err := s.mergeReads(); err != nil {
		return err
	}
	s.sortReads()
	return nil
}

// addRead adds the read of a branch, unless the branch contradicts itself.
func (s *selectRun) addRead(b *branch) {
	hash := b.hash[0]
	if slices.ContainsFunc(b.hash, func(v *value.Value) bool { return !v.Equal(hash) }) {
		return
	}
	r := read{hash: hash, negates: b.negates(s.plan.sort())}
	s.cond = &expr.KeyRange{Hash: []value.Value{*hash}}
	s.setQueryBounds()
	r.lower, r.upper = bytes.Clone(s.lower), bytes.Clone(s.upper)
	for _, n := range b.ranges {
		s.cond = keyRange(hash, n)
		s.setQueryBounds()
		if bytes.Compare(s.lower, r.lower) > 0 {
			r.lower = bytes.Clone(s.lower)
		}
		if bytes.Compare(s.upper, r.upper) < 0 {
			r.upper = bytes.Clone(s.upper)
		}
	}
	if bytes.Compare(r.lower, r.upper) < 0 {
		s.reads = append(s.reads, r)
	}
}

// mergeReads refuses reads that overlap. Reads that exclude values of the sort key are
// merged into one, since their bounds don't show whether they overlap.
func (s *selectRun) mergeReads() error {
	for i := 0; i < len(s.reads); i++ {
		for j := i + 1; j < len(s.reads); j++ {
			a, b := &s.reads[i], &s.reads[j]
			if bytes.Compare(a.lower, b.upper) >= 0 || bytes.Compare(b.lower, a.upper) >= 0 {
				continue
			}
			if !a.negates && !b.negates {
				return errOverlapping
			}
			if bytes.Compare(b.lower, a.lower) < 0 {
				a.lower = b.lower
			}
			if bytes.Compare(b.upper, a.upper) > 0 {
				a.upper = b.upper
			}
			a.negates = true
			s.reads = slices.Delete(s.reads, j, j+1)
			j = i // the merged read may overlap more
		}
	}
	return nil
}

// checkFilters refuses filters on attributes that the index does not hold, if all branches
// have one. Of several branches it reports the one with the greatest partition key.
func (s *selectRun) checkFilters(branches []branch) error {
	if s.x == nil {
		return nil
	}
	var worst *branch
	var names []string
	for i := range branches {
		b := &branches[i]
		var paths []expr.Path
		for _, n := range b.filters {
			paths = append(paths, (&expr.Condition{Root: n}).Paths()...)
		}
		missing := s.unprojected(rootNames(paths))
		if len(missing) == 0 {
			return nil
		}
		if worst == nil || compareKeys(b.hash[0], worst.hash[0]) > 0 {
			worst, names = b, missing
		}
	}
	return wire.Invalid("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: %s", s.x.Name, setText(names))
}

// compareKeys orders two values of one key attribute.
func compareKeys(a, b *value.Value) int {
	order, _ := value.Compare(a, b)
	return order
}

// checkOrder checks ORDER BY. branches is nil for a statement that is not read by key.
func (s *selectRun) checkOrder(branches []branch) error {
	cmd := s.cmd
	switch {
	case cmd.OrderFault != nil:
		return statementFault(cmd.OrderFault)
	case len(cmd.Order) == 0:
		return nil
	case cmd.Where == nil:
		return wire.Invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	}
	for _, o := range cmd.Order {
		if !s.key.Has(o.Name) {
			return wire.Invalid("Attribute %s in ORDER BY clause must be part of the primary key", o.Name)
		}
	}
	if branches == nil {
		return wire.Invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	}
	first := branches[0].hash[0]
	several := slices.ContainsFunc(branches, func(b branch) bool {
		return slices.ContainsFunc(b.hash, func(v *value.Value) bool { return !v.Equal(first) })
	})
	if _, ordered := cmd.OrderOf(s.plan.hash()); several && !ordered {
		return wire.Invalid("Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.")
	}
	return nil
}

// sortReads sorts the reads as the statement requires. If it orders only partitions, each of
// them is read backwards, as in the service.
func (s *selectRun) sortReads() {
	if len(s.cmd.Order) == 0 {
		return
	}
	hashDown, _ := s.cmd.OrderOf(s.plan.hash())
	sortDown, sorted := s.cmd.OrderOf(s.plan.sort())
	s.req.Backward = sortDown || !sorted
	slices.SortStableFunc(s.reads, func(a, b read) int {
		if order := compareKeys(a.hash, b.hash); order != 0 {
			return directed(order, hashDown)
		}
		return directed(cmp.Compare(string(a.lower), string(b.lower)), s.req.Backward)
	})
}

func directed(order int, down bool) int {
	if down {
		return -order
	}
	return order
}

// answer reads a page and appends the reply to c.out.
func (s *selectRun) answer(c *call, token *nextToken) error {
	if err := c.admitRead(s.t.info, s.x); err != nil {
		return err
	}
	o := c.object()
	o.member("Items")
	c.out = append(c.out, '[')
	more, err := s.readPage(c)
	if err != nil {
		return err
	}
	c.out = append(c.out, ']')
	if more {
		token.read, token.last = s.at, s.place()
		o.member("NextToken")
		c.out = token.append(c.out)
		if len(s.page.last) > 0 {
			o.member("LastEvaluatedKey")
			c.out = append(c.out, s.page.last...)
		}
	}
	cost := s.cost()
	c.spendCost(s.t.info, &cost, false)
	if s.req.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		c.out = cost.append(c.out, s.req.Capacity)
	}
	o.end()
	return nil
}

// readPage executes reads, beginning with the current one, until the page is full or all
// reads are done. It reports whether there is another page, which begins in the current
// read.
func (s *selectRun) readPage(c *call) (more bool, err error) {
	for n := 0; s.at < len(s.reads); s.at++ {
		if n++; n > maxPageReads {
			return true, nil
		}
		r := &s.reads[s.at]
		s.lower, s.upper = r.lower, r.upper
		if err := s.read(c); err != nil {
			return false, err
		}
		s.units += readUnits(s.page.size-s.counted, s.req.Consistent)
		s.counted = s.page.size
		if len(s.page.last) == 0 {
			continue
		}
		if s.single() {
			s.at++
		}
		return s.at < len(s.reads), nil
	}
	return false, nil
}

// place returns the beginning of the next page in the current read; nil for the beginning of
// the read.
func (s *selectRun) place() []byte {
	if s.single() {
		return nil
	}
	return s.page.last
}

// cost returns the cost of the page. A statement that contradicts itself reads nothing, and
// costs as much as an empty read.
func (s *selectRun) cost() consumed {
	units := max(s.units, readUnits(0, s.req.Consistent))
	if s.x == nil {
		return consumed{named: s.req.Named, table: units}
	}
	return consumed{named: s.req.Named, table: s.page.units, indexes: []indexCost{{index: s.x.Name, local: s.x.Local, units: units}}}
}

// appendColumns appends the row of the columns for an item.
func appendColumns(c *call, columns []partiql.Column, text []byte) error {
	item, err := value.Stored(text)
	if err != nil {
		return damaged(text)
	}
	o := c.object()
	for i := range columns {
		if v := columns[i].Path.In(&item); v != nil {
			o.name(columns[i].Name)
			c.out = v.Append(c.out)
		}
	}
	o.end()
	return nil
}
