package key

import "fmt"

// Error is a mistake in a template or a path.
type Error struct {
	// Text is the parsed text, and At the index of the byte where the mistake begins.
	Text string
	At   int
	// What describes the mistake.
	What string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (in %q at %d)", e.What, e.Text, e.At+1)
}
