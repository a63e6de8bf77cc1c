package value

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// Size returns the number of bytes that the value counts towards the size of its item.
func (v *Value) Size() int {
	switch v.Type {
	case String, Binary:
		return len(v.Text)
	case Number:
		var n wire.Number
		n.Parse(v.Text)
		return n.Size()
	case StringSet, NumberSet, BinarySet:
		size := 0
		for i := range v.Items {
			size += v.Items[i].Size()
		}
		return size
	case List:
		size := 3
		for i := range v.Items {
			size += 1 + v.Items[i].Size()
		}
		return size
	case Map:
		return 3 + len(v.Members) + v.ItemSize()
	}
	return 1 // Bool, Null
}

// ItemSize returns the size of a Map as an item.
func (v *Value) ItemSize() int {
	size := 0
	for i := range v.Members {
		size += len(v.Members[i].Name) + v.Members[i].Value.Size()
	}
	return size
}
