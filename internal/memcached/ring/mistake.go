package ring

import "fmt"

// Mistake is an error that New finds in a Config.
type Mistake struct {
	// Distribution is the Config's Name.
	Distribution string
	// Field is the field of the Config to correct.
	Field Field
	// Server is the index of the server, or -1.
	Server int
	// Text describes the mistake, without the distribution's name.
	Text string
}

// Field identifies a field of Config.
type Field uint8

// The fields with checks. Labels and weights belong to a server.
const (
	FieldName Field = iota
	FieldPoints
	FieldHash
	FieldPointHash
	FieldHashTag
	FieldKeyEscape
	FieldRehash
	FieldServers
	FieldLabel
	FieldWeight
)

func (m *Mistake) Error() string {
	if m.Field == FieldName {
		return m.Text
	}
	text := m.Text
	if m.Server >= 0 {
		text = fmt.Sprintf("server %d: %s", m.Server+1, text)
	}
	return "distribution " + m.Distribution + ": " + text
}

func wrong(f Field, format string, args ...any) error {
	return &Mistake{Field: f, Server: -1, Text: fmt.Sprintf(format, args...)}
}

func wrongServer(i int, f Field, format string, args ...any) error {
	return &Mistake{Field: f, Server: i, Text: fmt.Sprintf(format, args...)}
}
