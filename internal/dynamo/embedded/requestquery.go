package embedded

import (
	"errors"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var (
	readsFields = fieldsOf(fieldTable, fieldIndex, fieldFilter, fieldProjection, fieldNames, fieldValues, fieldSelect, fieldLimit,
		fieldConsistent, fieldStart, fieldCapacity, fieldConditionalOperator, fieldAttributesToGet)
	queryFields = readsFields | fieldsOf(fieldKeyCondition, fieldForward, fieldKeyConditions, fieldQueryFilter)
	scanFields  = readsFields | fieldsOf(fieldSegment, fieldSegments, fieldScanFilter)
)

func parseQuery(body []byte) (queryRequest, error) {
	r, err := readQuery(body)
	return r, newer(err)
}

func readQuery(body []byte) (queryRequest, error) {
	var f fields
	readFields(&f, body, queryFields)
	r := f.query()
	if err := f.checkStyle(); err != nil {
		return r, err
	}
	var err error
	if r.Filter, err = f.legacyCondition(fieldQueryFilter, expr.LegacyFilter); err != nil {
		return r, err
	}
	if r.Projection, err = f.attributesToGet(); err != nil {
		return r, err
	}
	if err := r.readStart(&f); err != nil {
		return r, err
	}
	if !f.given.has(fieldKeyConditions) && !f.given.has(fieldKeyCondition) {
		return r, wire.Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	x, err := r.readExpressions(&f)
	if err != nil {
		return r, err
	}
	if x.keyCondition != nil {
		r.Keys, err = x.keyCondition.KeyQuery()
	} else {
		r.Keys, err = expr.LegacyKeyQuery(f.values[fieldKeyConditions], r.Index != "")
	}
	if err != nil {
		return r, invalid(err)
	}
	return r, r.checkSelect(&f)
}

func parseScan(body []byte) (queryRequest, error) {
	var f fields
	readFields(&f, body, scanFields)
	r := f.query()
	r.Scan = true
	if err := f.checkStyle(); err != nil {
		return r, err
	}
	var err error
	if r.Projection, err = f.attributesToGet(); err != nil {
		return r, err
	}
	if r.Filter, err = f.legacyCondition(fieldScanFilter, expr.LegacyFilter); err != nil {
		return r, err
	}
	if err := r.readStart(&f); err != nil {
		return r, err
	}
	if err := r.checkSegment(&f); err != nil {
		return r, err
	}
	if _, err := r.readExpressions(&f); err != nil {
		return r, err
	}
	return r, r.checkSelect(&f)
}

// query returns a Query or Scan with the fields that need no further checks.
func (f *fields) query() queryRequest {
	r := queryRequest{
		Index: string(f.text(fieldIndex)), Select: f.selects(), Limit: f.number(fieldLimit), Consistent: f.flag(fieldConsistent),
		Backward: f.given.has(fieldForward) && !f.flag(fieldForward), Segment: f.number(fieldSegment),
		Segments: f.number(fieldSegments), Capacity: f.capacity(),
	}
	r.Table, r.Named = f.table()
	return r
}

// readStart reads the key after which a page starts.
func (r *queryRequest) readStart(f *fields) error {
	if !f.given.has(fieldStart) {
		return nil
	}
	start, err := value.ParseItem(f.values[fieldStart])
	if err != nil {
		return startFault(err)
	}
	r.Start = &start
	return nil
}

// wrappedStarts are the beginnings of faults that are reported as faults of the starting
// key. Others are reported unchanged.
var wrappedStarts = []string{
	"Supplied AttributeValue ",
	"One or more parameter values were invalid: Null attribute value types ",
	"One or more parameter values were invalid: An string set  may not be empty",
	"One or more parameter values were invalid: Binary sets should not be empty",
}

func startFault(err error) error {
	var fault *wire.Error
	if !errors.As(err, &fault) {
		return err
	}
	for _, start := range wrappedStarts {
		if strings.HasPrefix(fault.Message, start) {
			return wire.Invalid("The provided starting key is invalid: %s", fault.Message)
		}
	}
	return fault
}

// readExpressions reads the filter and the projection, and returns all expressions,
// including the key condition.
func (r *queryRequest) readExpressions(f *fields) (expressions, error) {
	x, err := f.parse()
	if x.filter != nil {
		r.Filter = x.filter
	}
	if x.projection != nil {
		r.Projection = x.projection
	}
	return x, err
}

// checkSegment checks the segment of a Scan.
func (r *queryRequest) checkSegment(f *fields) error {
	segment, segments := f.given.has(fieldSegment), f.given.has(fieldSegments)
	switch {
	case segment && !segments:
		return wire.Invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segments && !segment:
		return wire.Invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case segments && r.Segment >= r.Segments:
		return wire.Invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: "+
			"Segment: %d is not less than TotalSegments: %d", r.Segment, r.Segments)
	}
	return nil
}

// selected maps values of Select to their names in messages.
var selected = [...]string{
	selectAllAttributes: "ALL_ATTRIBUTES",
	selectProjected:     "ALL_PROJECTED_ATTRIBUTES",
	selectSpecific:      "SPECIFIC_ATTRIBUTES",
	selectCount:         "only the Count",
}

// checkSelect checks Select against the rest of the request.
func (r *queryRequest) checkSelect(f *fields) error {
	list := f.given & fieldsOf(fieldProjection, fieldAttributesToGet)
	switch {
	case r.Select == selectDefault:
		return nil
	case r.Select == selectSpecific && list == 0:
		return r.refuse("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case r.Select == selectProjected && r.Index == "":
		return r.refuse("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case r.Select != selectSpecific && list != 0:
		return r.refuse("Cannot specify the " + list.list("") + " when choosing to get " + selected[r.Select])
	}
	return nil
}

// refuse returns the operation's form of an error: only a Query counts the faults.
func (r *queryRequest) refuse(message string) error {
	if !r.Scan {
		message = oneFault + message
	}
	return wire.Invalid("%s", message)
}
