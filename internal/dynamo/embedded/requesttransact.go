package embedded

import (
	"math/bits"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var (
	transactWriteFields = fieldsOf(fieldTransactItems, fieldToken, fieldCapacity, fieldMetrics)
	transactGetFields   = fieldsOf(fieldTransactItems, fieldCapacity)
	actionFields        = fieldsOf(fieldCheckAction, fieldPutAction, fieldUpdateAction, fieldDeleteAction)
	transactKeyFields   = fieldsOf(fieldTable, fieldKey, fieldProjection, fieldNames)
)

var (
	errNoAction  = wire.Invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	errTwoAction = wire.Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
)

// actions maps the members of an element of TransactItems to their actions.
var actions = map[field]struct {
	kind writeKind
	of   fieldSet
}{
	fieldCheckAction:  {writeCheck, conditional | fieldsOf(fieldKey)},
	fieldPutAction:    {writePut, conditional | fieldsOf(fieldItem)},
	fieldUpdateAction: {writeUpdate, conditional | fieldsOf(fieldKey, fieldUpdate)},
	fieldDeleteAction: {writeDelete, conditional | fieldsOf(fieldKey)},
}

// parseTransactWriteItems reads a TransactWriteItems: first the kinds of all elements, then
// the elements.
func parseTransactWriteItems(body []byte) (r transactWriteRequest, err error) {
	var f fields
	readFields(&f, body, transactWriteFields)
	r.Token, r.Capacity, r.Metrics = string(f.text(fieldToken)), f.capacity(), f.metrics()
	texts := elements(f.values[fieldTransactItems])
	for _, text := range texts {
		readFields(&f, text, actionFields)
		switch bits.OnesCount64(uint64(f.given)) {
		case 0:
			return r, errNoAction
		case 1:
		default:
			return r, errTwoAction
		}
	}
	r.Writes = make([]writeRequest, len(texts))
	for i, text := range texts {
		readFields(&f, text, actionFields)
		if r.Writes[i], err = f.action(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// action reads the one action among the fields.
func (f *fields) action() (w writeRequest, err error) {
	kind := field(bits.TrailingZeros64(uint64(f.given)))
	readFields(f, f.values[kind], actions[kind].of)
	w = f.write(actions[kind].kind)
	if err := f.checkStyle(); err != nil {
		return w, err
	}
	if err := w.readExpressions(f); err != nil {
		return w, err
	}
	item := f.values[fieldKey]
	if w.Kind == writePut {
		item = f.values[fieldItem]
	}
	if err := w.readItem(item); err != nil {
		return w, err
	}
	return w, w.checkSize()
}

func parseTransactGetItems(body []byte) (r transactGetRequest, err error) {
	var f fields
	readFields(&f, body, transactGetFields)
	r.Capacity = f.capacity()
	texts := elements(f.values[fieldTransactItems])
	r.Gets = make([]getRequest, len(texts))
	for i, text := range texts {
		readFields(&f, text, fieldsOf(fieldGet))
		readFields(&f, f.values[fieldGet], transactKeyFields)
		if r.Gets[i], err = f.get(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// get reads a transaction's Get.
func (f *fields) get() (r getRequest, err error) {
	r.Table, r.Named = f.table()
	r.Consistent = true
	if err := f.checkStyle(); err != nil {
		return r, err
	}
	x, err := f.parse()
	if err != nil {
		return r, err
	}
	r.Projection = x.projection
	r.Key, err = value.ParseItem(f.values[fieldKey])
	return r, err
}
