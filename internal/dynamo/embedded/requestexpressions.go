package embedded

import (
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// checkStyle refuses requests that mix expressions with legacy members, and names or values
// that no expression can use.
func (f *fields) checkStyle() error {
	if err := f.checkMixing(); err != nil {
		return err
	}
	return f.checkAlone()
}

func (f *fields) checkMixing() error {
	expressions := f.given.between(firstExpression, endExpressions)
	legacy := f.given.between(0, firstExpression)
	if !expressions.has(fieldKeyCondition) {
		legacy &^= 1 << fieldKeyConditions // they may be mixed with the other expressions
	}
	if expressions == 0 || legacy == 0 {
		return nil
	}
	return wire.Invalid("Can not use both expression and non-expression parameters in the same request: "+
		"Non-expression parameters: {%s} Expression parameters: {%s}", legacy.list(", "), expressions.list(", "))
}

// checkAlone refuses names and values without expressions.
func (f *fields) checkAlone() error {
	if f.given.has(fieldNames) && f.given.between(firstExpression, endExpressions) == 0 {
		return wire.Invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	if f.given.has(fieldValues) && f.given.between(firstWithValues, endExpressions) == 0 {
		users, verb := f.of.between(firstWithValues, endExpressions), "is"
		if users&(users-1) != 0 {
			verb = "are"
		}
		const unused = "ExpressionAttributeValues can only be specified when using expressions"
		fault := wire.Invalid("%s: %s %s null", unused, users.list(" and "), verb)
		if users.has(fieldCondition) {
			fault.Newer = unused
		}
		return fault
	}
	return nil
}

// expressions are a request's expressions, nil where there is none.
type expressions struct {
	update       *expr.Update
	condition    *expr.Condition
	keyCondition *expr.Condition
	filter       *expr.Condition
	search       *expr.Condition
	projection   []expr.Path
}

// references are the names and values that expressions refer to. Parsed expressions don't
// keep them, so they are pooled.
type references struct {
	names  expr.Names
	values expr.Values
}

var referencesPool = sync.Pool{New: func() any { return new(references) }}

// parse reads the request's expressions. Once all of them are valid, it checks that they use
// all names and values.
func (f *fields) parse() (x expressions, err error) {
	if f.given.between(firstExpression, endExpressions) == 0 {
		return x, nil
	}
	r := referencesPool.Get().(*references)
	defer r.release()
	if err = r.read(f); err == nil {
		err = x.parse(f, r)
	}
	if err == nil {
		err = r.unused()
	}
	return x, invalid(err)
}

// read reads names before values.
func (r *references) read(f *fields) error {
	if err := r.names.Reset(f.values[fieldNames]); err != nil {
		return err
	}
	return r.values.Load(f.values[fieldValues])
}

func (r *references) unused() error {
	if err := r.names.Unused(); err != nil {
		return err
	}
	return r.values.Unused()
}

// release drops the references to the request.
func (r *references) release() {
	_, _ = r.names.Reset(nil), r.values.Load(nil)
	referencesPool.Put(r)
}

// parse reads the expressions in the service's order.
func (x *expressions) parse(f *fields, r *references) (err error) {
	if f.given.has(fieldUpdate) {
		x.update, err = expr.ParseUpdate(f.text(fieldUpdate), &r.names, &r.values)
	}
	condition := func(which string, i field) (c *expr.Condition) {
		if err == nil && f.given.has(i) {
			c, err = expr.ParseCondition(which, f.text(i), &r.names, &r.values)
		}
		return c
	}
	x.condition = condition("Condition", fieldCondition)
	x.keyCondition = condition("KeyCondition", fieldKeyCondition)
	x.filter = condition("Filter", fieldFilter)
	x.search = condition("SearchCondition", fieldSearchCondition)
	if err == nil && f.given.has(fieldProjection) {
		x.projection, err = expr.ParsePaths(f.text(fieldProjection), &r.names)
	}
	return err
}

// attributesToGet reads the legacy list of attributes that preceded projections; nil for
// none.
func (f *fields) attributesToGet() ([]expr.Path, error) {
	if !f.given.has(fieldAttributesToGet) {
		return nil, nil
	}
	paths, err := expr.LegacyAttributes(f.values[fieldAttributesToGet])
	return paths, invalid(err)
}

// legacyCondition reads a legacy condition or filter; nil for none.
func (f *fields) legacyCondition(i field, read func(object []byte, operator string) (*expr.Condition, error)) (*expr.Condition, error) {
	if !f.given.has(i) && !f.given.has(fieldConditionalOperator) {
		return nil, nil
	}
	c, err := read(f.values[i], string(f.text(fieldConditionalOperator)))
	return c, invalid(err)
}
