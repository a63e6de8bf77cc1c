package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// decode returns the view in an item of the cluster, and the text of the write that stored
// it.
func decode(cluster string, raw json.RawMessage) (v protocol.View, write string, err error) {
	d := decoder{}
	root := attributes{}
	if json.Unmarshal(raw, &root.values) != nil || root.values == nil {
		return protocol.View{}, "", errors.New("it is not a JSON object")
	}
	format := d.number(root, "format")
	if d.err == nil && format > itemFormat {
		return protocol.View{}, "", fmt.Errorf("it has format %d, which a newer version of Kasoku wrote; this version reads format %d: upgrade this node",
			format, itemFormat)
	}
	if name := d.text(root, "cluster"); d.err == nil && name != cluster {
		return protocol.View{}, "", fmt.Errorf("it belongs to the cluster %q", name)
	}
	v.Rev, v.Epoch = d.number(root, "rev"), d.number(root, "epoch")
	v.Creator = d.instance(root, "creator")
	field(&d, root, "clean", "BOOL", false, &v.Clean)
	write = d.optionalText(root, "write")
	for i, entry := range d.list(root, "members", true) {
		v.Members = append(v.Members, d.member(entry, fmt.Sprintf("members[%d]", i)))
	}
	for i, entry := range d.list(root, "suspended", false) {
		m := d.attributes(entry, fmt.Sprintf("suspended[%d]", i))
		v.Suspended = append(v.Suspended, protocol.Suspension{By: d.instance(m, "by"), Of: d.instance(m, "of")})
	}
	for i, entry := range d.list(root, "away", false) {
		m := d.attributes(entry, fmt.Sprintf("away[%d]", i))
		v.Away = append(v.Away, protocol.Away{Node: d.text(m, "node"), Since: d.date(m, "since"), Reason: d.optionalText(m, "reason")})
	}
	if d.err == nil && format == 0 {
		d.err = errors.New("its format is 0")
	}
	if d.err == nil {
		d.err = check(&v)
	}
	if d.err != nil {
		return protocol.View{}, "", d.err
	}
	return v, write, nil
}

// decoder takes values out of an item. After an error its methods return zero values.
type decoder struct{ err error }

// attributes is a map of the item with its path, for errors.
type attributes struct {
	path   string
	values map[string]any
}

func (m attributes) at(name string) string {
	if m.path == "" {
		return name
	}
	return m.path + "." + name
}

func (d *decoder) fail(path, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s "+format, append([]any{path}, args...)...)
	}
}

// value sets to to the attribute value v, for example {"S":"a"}, if it has the type.
func value[T any](d *decoder, v any, path, typ string, to *T) {
	if d.err != nil {
		return
	}
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		d.fail(path, "is not an attribute value")
		return
	}
	inner, ok := m[typ]
	if !ok {
		for other := range m {
			d.fail(path, "has the type %.10s instead of %s", other, typ)
		}
		return
	}
	if *to, ok = inner.(T); !ok {
		d.fail(path, "is not a value of type %s", typ)
	}
}

// field sets to to an attribute, and reports whether it exists.
func field[T any](d *decoder, m attributes, name, typ string, required bool, to *T) bool {
	v, ok := m.values[name]
	if !ok && required {
		d.fail(m.at(name), "is missing")
	}
	if ok {
		value(d, v, m.at(name), typ, to)
	}
	return ok && d.err == nil
}

func (d *decoder) text(m attributes, name string) (s string) {
	field(d, m, name, "S", true, &s)
	return s
}

func (d *decoder) optionalText(m attributes, name string) (s string) {
	field(d, m, name, "S", false, &s)
	return s
}

func (d *decoder) number(m attributes, name string) uint64 {
	var s string
	if !field(d, m, name, "N", true, &s) {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		d.fail(m.at(name), "is %.40q instead of a number from 0 to 2^64-1", s)
	}
	return n
}

func (d *decoder) instance(m attributes, name string) protocol.Instance {
	s := d.text(m, name)
	n, err := strconv.ParseUint(s, 16, 64)
	if d.err == nil && (err != nil || len(s) != 16) {
		d.fail(m.at(name), "is %.40q instead of 16 hexadecimal digits", s)
	}
	return protocol.Instance(n)
}

func (d *decoder) date(m attributes, name string) int64 {
	var s string
	if !field(d, m, name, "S", false, &s) {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		d.fail(m.at(name), "is %.40q instead of a time like 2026-01-31T12:00:00.000Z", s)
		return 0
	}
	return t.UnixMilli()
}

func (d *decoder) list(m attributes, name string, required bool) (l []any) {
	field(d, m, name, "L", required, &l)
	return l
}

// attributes returns the attributes of a map.
func (d *decoder) attributes(v any, path string) attributes {
	m := attributes{path: path}
	value(d, v, path, "M", &m.values)
	return m
}

func (d *decoder) member(v any, path string) (to protocol.Member) {
	m := d.attributes(v, path)
	to.Instance = d.instance(m, "instance")
	to.Node, to.Address = d.text(m, "node"), d.text(m, "address")
	to.Zone = d.optionalText(m, "zone")
	field(d, m, "joining", "BOOL", false, &to.Joining)
	to.Joined = d.date(m, "joined")
	dax := attributes{path: m.at("dax")}
	field(d, m, "dax", "M", false, &dax.values)
	for _, service := range slices.Sorted(maps.Keys(dax.values)) {
		addresses := []string{}
		for i, v := range d.list(dax, service, true) {
			var s string
			value(d, v, fmt.Sprintf("%s[%d]", dax.at(service), i), "S", &s)
			addresses = append(addresses, s)
		}
		if to.DAX == nil {
			to.DAX = map[string][]string{}
		}
		to.DAX[service] = addresses
	}
	services := attributes{path: m.at("services")}
	field(d, m, "services", "M", false, &services.values)
	for _, service := range slices.Sorted(maps.Keys(services.values)) {
		if to.Services == nil {
			to.Services = map[string]string{}
		}
		to.Services[service] = d.text(services, service)
	}
	return to
}
