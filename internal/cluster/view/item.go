package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// itemFormat is the format that this version writes, and the newest that it reads.
const itemFormat = 1

// Limits on a view. DynamoDB allows items of 400 KB.
const (
	maxMembers = 64
	maxSize    = 350_000
)

// timeLayout is RFC 3339 with milliseconds, in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// latest is the last time that timeLayout can express.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()

// item is a set of attributes by name, in DynamoDB's JSON.
type item map[string]any

func text(s string) item                  { return item{"S": s} }
func number(n uint64) item                { return item{"N": strconv.FormatUint(n, 10)} }
func list(values []any) item              { return item{"L": values} }
func object(attributes item) item         { return item{"M": attributes} }
func hex(i protocol.Instance) item        { return text(fmt.Sprintf("%016x", uint64(i))) }
func date(unixMilli int64) item           { return text(time.UnixMilli(unixMilli).UTC().Format(timeLayout)) }
func (to item) set(name, s string)        { to.setIf(s != "", name, text(s)) }
func (to item) setDate(n string, d int64) { to.setIf(d != 0, n, date(d)) }

// setIf sets an attribute if ok is true.
func (to item) setIf(ok bool, name string, value item) {
	if ok {
		to[name] = value
	}
}

// Marshal returns v as the JSON of an item of the cluster, for a store that is no table.
// Unmarshal is its inverse.
func Marshal(cluster string, v *protocol.View) ([]byte, error) {
	stored, err := encode(cluster, "", v)
	if err != nil {
		return nil, err
	}
	delete(stored, "write")
	return json.Marshal(stored)
}

// Unmarshal returns the view in the JSON of an item of the cluster.
func Unmarshal(cluster string, data []byte) (protocol.View, error) {
	v, _, err := decode(cluster, data)
	return v, err
}

// encode returns v as an item. The write's text is stored with it.
func encode(cluster, write string, v *protocol.View) (item, error) {
	if err := check(v); err != nil {
		return nil, fmt.Errorf("cluster view: it can't be stored: %w", err)
	}
	members, suspended, away := []any{}, []any{}, []any{}
	for i := range v.Members {
		members = append(members, object(encodeMember(&v.Members[i])))
	}
	for _, s := range v.Suspended {
		suspended = append(suspended, object(item{"by": hex(s.By), "of": hex(s.Of)}))
	}
	for _, a := range v.Away {
		m := item{"node": text(a.Node)}
		m.setDate("since", a.Since)
		m.set("reason", a.Reason)
		away = append(away, object(m))
	}
	to := item{
		"cluster": text(cluster), "format": number(itemFormat), "rev": number(v.Rev), "creator": hex(v.Creator), "epoch": number(v.Epoch),
		"write": text(write), "members": list(members), "suspended": list(suspended), "away": list(away),
	}
	to.setIf(v.Clean, "clean", item{"BOOL": true})
	return to, nil
}

func encodeMember(m *protocol.Member) item {
	to := item{"instance": hex(m.Instance), "node": text(m.Node), "address": text(m.Address)}
	to.set("zone", m.Zone)
	to.setIf(m.Joining, "joining", item{"BOOL": true})
	to.setDate("joined", m.Joined)
	if len(m.DAX) > 0 {
		dax := item{}
		for service, addresses := range m.DAX {
			l := []any{}
			for _, a := range addresses {
				l = append(l, text(a))
			}
			dax[service] = list(l)
		}
		to["dax"] = object(dax)
	}
	if len(m.Services) > 0 {
		services := item{}
		for service, digest := range m.Services {
			services[service] = text(digest)
		}
		to["services"] = object(services)
	}
	return to
}

// check returns an error for a view that can't be stored. A view that was read passes as
// well, so that each view that can be read can be written.
func check(v *protocol.View) error {
	if v.Rev == 0 {
		return errors.New("its revision is 0")
	}
	if n := len(v.Members); n > maxMembers {
		return fmt.Errorf("it has %d members, and the maximum is %d", n, maxMembers)
	}
	c := checker{size: 200, valid: true, dated: true}
	seen := map[protocol.Instance]bool{}
	for i := range v.Members {
		m := &v.Members[i]
		if seen[m.Instance] {
			return fmt.Errorf("instance %016x is in it twice", uint64(m.Instance))
		}
		seen[m.Instance] = true
		c.strings(m.Node, m.Address, m.Zone)
		c.date(m.Joined)
		for service, addresses := range m.DAX {
			c.strings(service)
			c.strings(addresses...)
		}
		for service, digest := range m.Services {
			c.strings(service, digest)
		}
		c.size += 100
	}
	for _, a := range v.Away {
		c.strings(a.Node, a.Reason)
		c.date(a.Since)
		c.size += 60
	}
	c.size += 50 * len(v.Suspended)
	switch {
	case !c.valid:
		return errors.New("a text in it is not UTF-8")
	case !c.dated:
		return errors.New("a time in it is not between 1970 and 9999")
	case c.size > maxSize:
		return fmt.Errorf("it needs %d bytes, and the maximum is %d", c.size, maxSize)
	}
	return nil
}

// checker adds up the size of a view, about as DynamoDB measures items, and checks values.
type checker struct {
	size         int
	valid, dated bool
}

func (c *checker) strings(list ...string) {
	for _, s := range list {
		c.size += len(s) + 4
		c.valid = c.valid && utf8.ValidString(s)
	}
}

func (c *checker) date(unixMilli int64) { c.dated = c.dated && unixMilli >= 0 && unixMilli <= latest }
