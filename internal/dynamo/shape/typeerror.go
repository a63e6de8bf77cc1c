package shape

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// typeError records the error for a value of the wrong type. Its text is the one of the
// service's parser, including the names of its classes.
func (c *checker) typeError(i int, s *shape, where place) int {
	switch first := c.b[i]; {
	case first == '{':
		return c.fail("Start of structure or map found where not expected")
	case first == '[':
		return c.fail("Unrecognized collection type " + s.javaType())
	case s.kind == listKind || s.kind == mapKind:
		if where == inside {
			return c.fail(parameterized)
		}
		return c.fail("Unexpected field type")
	case s.kind == structKind || s.kind == attributeKind:
		if where == inside {
			return c.fail("Unexpected value type in payload")
		}
		return c.fail("Unexpected field type")
	case s.kind == blobKind:
		return c.fail("only base-64-encoded strings are convertible to bytes")
	default:
		return c.fail(c.token(i) + " cannot be converted to " + s.scalarName())
	}
}

// parameterized is the error for a scalar in place of a list or a map inside another one.
const parameterized = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class " +
	"(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"

// token returns the parser's name for the scalar at i.
func (c *checker) token(i int) string {
	switch c.b[i] {
	case '"':
		return "STRING_VALUE"
	case 't':
		return "TRUE_VALUE"
	case 'f':
		return "FALSE_VALUE"
	}
	if bytes.ContainsAny(c.b[i:wire.SkipValue(c.b, i)], ".eE") {
		return "DECIMAL_VALUE"
	}
	return "NUMBER_VALUE"
}

// scalarName returns the name of a scalar's type in messages.
func (s *shape) scalarName() string {
	switch s.kind {
	case booleanKind:
		return "Boolean"
	case integerKind:
		return "Integer"
	case longKind:
		return "Long"
	}
	return "String"
}

// javaType returns the type as Java writes it.
func (s *shape) javaType() string {
	switch s.kind {
	case blobKind:
		return "class java.nio.ByteBuffer"
	case mapKind:
		return "java.util.Map<java.lang.String, " + s.elem.parameter() + ">"
	case structKind, attributeKind:
		return "class " + packageName + s.class
	}
	return "class java.lang." + s.scalarName()
}

// parameter returns the type as Java writes a type parameter.
func (s *shape) parameter() string {
	switch s.kind {
	case listKind:
		return "java.util.List<" + s.elem.parameter() + ">"
	case structKind, attributeKind:
		return packageName + s.class
	}
	return "java.lang." + s.scalarName()
}
