package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var (
	getFields = fieldsOf(fieldTable, fieldKey, fieldConsistent, fieldProjection, fieldNames, fieldCapacity, fieldAttributesToGet)

	conditional  = fieldsOf(fieldTable, fieldCondition, fieldNames, fieldValues, fieldReturnOnFailure)
	singleWrite  = conditional | fieldsOf(fieldReturn, fieldCapacity, fieldMetrics, fieldExpected, fieldConditionalOperator)
	putFields    = singleWrite | fieldsOf(fieldItem)
	deleteFields = singleWrite | fieldsOf(fieldKey)
	updateFields = deleteFields | fieldsOf(fieldUpdate, fieldAttributeUpdates)
)

var errReturnValues = wire.Invalid("ReturnValues can only be ALL_OLD or NONE")

func parseGetItem(body []byte) (getRequest, error) {
	r, err := readGetItem(body)
	return r, newer(err)
}

func readGetItem(body []byte) (r getRequest, err error) {
	var f fields
	readFields(&f, body, getFields)
	r.Table, r.Named = f.table()
	r.Consistent, r.Capacity = f.flag(fieldConsistent), f.capacity()
	if err = f.checkStyle(); err != nil {
		return r, err
	}
	if r.Key, err = value.ParseItem(f.values[fieldKey]); err != nil {
		return r, err
	}
	if r.Projection, err = f.attributesToGet(); err != nil || r.Projection != nil {
		return r, err
	}
	x, err := f.parse()
	r.Projection = x.projection
	return r, err
}

func parsePutItem(body []byte) (writeRequest, error) {
	w, err := readPutItem(body)
	return w, counted(body, err)
}

func readPutItem(body []byte) (writeRequest, error) {
	var f fields
	readFields(&f, body, putFields)
	w := f.write(writePut)
	if err := f.checkStyle(); err != nil {
		return w, err
	}
	if err := w.readItem(f.values[fieldItem]); err != nil {
		return w, err
	}
	if err := w.checkReturn(); err != nil {
		return w, err
	}
	if err := w.checkSize(); err != nil {
		return w, err
	}
	return w, w.readConditions(&f)
}

func parseDeleteItem(body []byte) (writeRequest, error) {
	w, err := readDeleteItem(body)
	return w, counted(body, err)
}

func readDeleteItem(body []byte) (writeRequest, error) {
	var f fields
	readFields(&f, body, deleteFields)
	w := f.write(writeDelete)
	if err := f.checkStyle(); err != nil {
		return w, err
	}
	if err := w.readItem(f.values[fieldKey]); err != nil {
		return w, err
	}
	if err := w.checkReturn(); err != nil {
		return w, err
	}
	return w, w.readConditions(&f)
}

func parseUpdateItem(body []byte) (writeRequest, error) {
	w, err := readUpdateItem(body)
	return w, counted(body, err)
}

func readUpdateItem(body []byte) (writeRequest, error) {
	var f fields
	readFields(&f, body, updateFields)
	w := f.write(writeUpdate)
	if err := f.checkStyle(); err != nil {
		return w, err
	}
	if err := w.readItem(f.values[fieldKey]); err != nil {
		return w, err
	}
	if f.given.has(fieldAttributeUpdates) {
		u, err := expr.LegacyUpdates(f.values[fieldAttributeUpdates])
		if err != nil {
			return w, invalid(err)
		}
		if len(u.Actions) > 0 {
			w.Update = u
		}
	}
	return w, w.readConditions(&f)
}

// write returns a write with the fields that need no further checks.
func (f *fields) write(kind writeKind) writeRequest {
	w := writeRequest{Kind: kind, ReturnItemOnFailure: f.returnOnFailure(), Return: f.returns(), Capacity: f.capacity(), Metrics: f.metrics()}
	w.Table, w.Named = f.table()
	return w
}

// readItem reads the item of a put or the key of another write.
func (w *writeRequest) readItem(object []byte) (err error) {
	w.Item, err = value.ParseItem(object)
	return err
}

// checkReturn checks ReturnValues for writes that return either the old item or nothing.
func (w *writeRequest) checkReturn() error {
	if w.Return != returnNone && w.Return != returnAllOld {
		return errReturnValues
	}
	return nil
}

// checkSize refuses items that are too large to be put.
func (w *writeRequest) checkSize() error {
	if w.Kind == writePut && w.Item.ItemSize() > maxItem {
		return errItemSize
	}
	return nil
}

// readConditions reads the write's condition, and an update expression.
func (w *writeRequest) readConditions(f *fields) (err error) {
	if w.Condition, err = f.legacyCondition(fieldExpected, expr.LegacyExpected); err != nil {
		return err
	}
	return w.readExpressions(f)
}

func (w *writeRequest) readExpressions(f *fields) error {
	x, err := f.parse()
	if x.condition != nil {
		w.Condition = x.condition
	}
	if x.update != nil {
		w.Update = x.update
	}
	return err
}
