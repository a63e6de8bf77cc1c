package key

import "fmt"

// Error is a mistake in a template or a path.
type Error struct {
	// Text is what was read, and At the byte in it where the mistake begins.
	Text string
	At   int
	// What is wrong, in words.
	What string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (in %q at %d)", e.What, e.Text, e.At+1)
}
