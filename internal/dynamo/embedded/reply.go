package embedded

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// object writes the members of an object to a call's reply.
type object struct {
	c     *call
	first bool
}

// object opens an object.
func (c *call) object() object {
	c.out = append(c.out, '{')
	return object{c, true}
}

// member begins a member; its value must be appended to c.out. The name is written without
// escaping.
func (o *object) member(name string) {
	if !o.first {
		o.c.out = append(o.c.out, ',')
	}
	o.first = false
	o.c.out = append(o.c.out, '"')
	o.c.out = append(o.c.out, name...)
	o.c.out = append(o.c.out, '"', ':')
}

// name is member for a name from a client, which it escapes.
func (o *object) name(name string) {
	if !o.first {
		o.c.out = append(o.c.out, ',')
	}
	o.first = false
	o.c.out = wire.AppendQuoted(o.c.out, []byte(name))
	o.c.out = append(o.c.out, ':')
}

// end closes the object.
func (o *object) end() { o.c.out = append(o.c.out, '}') }
