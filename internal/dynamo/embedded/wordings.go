package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The service checks the requests of some operations in a newer layer: GetItem, BatchGetItem
// and Query, and the writes of one item, whose faults it counts. The others are checked in
// the older layer. package value describes the differences in attribute values.

// newer returns an error in the newer wording.
func newer(err error) error {
	if err == nil { // the usual case allocates nothing
		return nil
	}
	e := asFault(err)
	if e == nil || e.Newer == "" {
		return err
	}
	return wire.Invalid("%s", e.Newer)
}

// counted returns an error about a request to write one item: in the newer wording, with the
// number of errors. The size of the item is checked later.
func counted(body []byte, err error) error {
	if err == nil { // the usual case allocates nothing
		return nil
	}
	e := asFault(err)
	if e == nil || e.Type != "ValidationException" || e == errItemSize || shape.Deep(body) {
		return err
	}
	if e.Newer != "" {
		return wire.Invalid(oneFault+"%s", e.Newer)
	}
	return wire.Invalid(oneFault+"%s", e.Message)
}

const oneFault = "1 validation error detected: "
