package value

// Type is the type of an attribute value.
type Type uint8

const (
	String Type = iota + 1
	Number
	Binary
	Bool
	Null
	StringSet
	NumberSet
	BinarySet
	List
	Map
)

var typeNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}

// String returns the name of the type in JSON.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return ""
}

// Element returns the type of a set's members, or 0 if t is not a set.
func (t Type) Element() Type {
	switch t {
	case StringSet:
		return String
	case NumberSet:
		return Number
	case BinarySet:
		return Binary
	}
	return 0
}

// typeOf returns the type called name in JSON, or 0 if there is none.
func typeOf(name []byte) Type {
	switch string(name) {
	case "S":
		return String
	case "N":
		return Number
	case "B":
		return Binary
	case "BOOL":
		return Bool
	case "NULL":
		return Null
	case "SS":
		return StringSet
	case "NS":
		return NumberSet
	case "BS":
		return BinarySet
	case "L":
		return List
	case "M":
		return Map
	}
	return 0
}

// Value is an attribute value. An item is a Map.
type Value struct {
	Type    Type
	Bool    bool     // of a Bool
	Text    []byte   // UTF-8 of a String, bytes of a Binary, normalized decimal text of a Number
	Items   []Value  // of a List or a set
	Members []Member // of a Map, in the order in which their names first appeared
}

// Member is a member of a Map, or an attribute of an item.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member of a Map called name, or nil if there is none or v is not a Map.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}
