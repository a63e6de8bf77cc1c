package dax

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
)

// defineAttributeListID returns the number of an attribute list. Clients request it before
// they send the first item with these attributes, and keep it permanently, and so does the
// server for all its clients. Clients with read access only must not add lists.
func (k *call) defineAttributeListID() {
	if !k.client.MayWrite() {
		k.srv.metrics.denied.Inc()
		k.fail(fault.New("AccessDeniedException", "The access key %s is not authorized to write items, and therefore to define attribute lists", k.conn.auth.id))
		return
	}
	defer k.releaseNames()
	if k.args.Kind() == cbor.Tag && k.args.Tag() != attr.TagStrings { // Java's client sends a set
		k.args.Fail("a tag other than that of a set of texts")
	}
	n := k.args.Array()
	names := k.names[:0]
	for k.args.More(&n) {
		if len(names) == maxNames {
			k.args.Fail("it has more than %d names", maxNames)
			break
		}
		names = append(names, k.args.String())
	}
	k.names = names
	if err := k.args.Close(); err != nil {
		k.fail(fault.Invalid("The list of attributes could not be read: %v", err))
		return
	}
	id, err := k.lists().ID(names)
	if err != nil {
		k.fail(listFault(err))
		return
	}
	k.out = cbor.AppendUint(append(k.out, success), id)
	k.local()
}

// maxNames bounds the allocation for a list before its number is looked up. No numbered list
// is longer.
const maxNames = 10_000

// maxPooledNames is the maximum capacity of a name slice that is reused.
const maxPooledNames = 1 << 10

// clientLists numbers lists on behalf of a call's client.
type clientLists call

func (k *call) lists() item.Lists { return (*clientLists)(k) }

// ID returns the number of a list of names.
func (k *clientLists) ID(names [][]byte) (uint64, error) {
	var by lists.Owner
	if !k.set.Open {
		by = lists.Owner{Key: k.conn.auth.id, Keys: len(k.set.Keys)}
	}
	return k.set.Lists.ID(names, by)
}

// Names returns the list with the given number, if there is one, here or on another node.
func (k *clientLists) Names(id uint64) ([]string, bool) {
	if names, ok := k.set.Lists.Names(id); ok || k.set.FindList == nil {
		return names, ok
	}
	return k.set.FindList((*call)(k).ctx(), id)
}

// releaseNames drops references to the names of a list.
func (k *call) releaseNames() {
	clear(k.names)
	if cap(k.names) > maxPooledNames {
		k.names = nil
	}
}

// defineAttributeList returns the names of the list with a given number.
func (k *call) defineAttributeList() {
	id, negative := k.args.Uint()
	if err := k.args.Close(); err != nil {
		k.fail(fault.Invalid("The number of the attribute list could not be read: %v", err))
		return
	}
	var names []string
	ok := !negative
	if ok {
		names, ok = k.lists().Names(id)
	}
	if !ok {
		k.fail(fault.Invalid("There is no attribute list with the requested number. Restart the client: it keeps such numbers for as long as it runs"))
		return
	}
	k.out = cbor.AppendArray(append(k.out, success), len(names))
	for _, name := range names {
		k.out = cbor.AppendText(k.out, name)
	}
	k.local()
}

// listFault returns the error reply for a failure to number a list.
func listFault(err error) *fault.Error {
	switch {
	case errors.Is(err, lists.ErrFull), errors.Is(err, lists.ErrShare):
		return fault.New("LimitExceededException", "The attributes can't be numbered: %v", err)
	case errors.Is(err, lists.ErrNames), errors.Is(err, lists.ErrCollision):
		return fault.Invalid("The attributes can't be numbered: %v", err)
	}
	return fault.New("InternalServerError", "The attributes could not be numbered: %v", err)
}
