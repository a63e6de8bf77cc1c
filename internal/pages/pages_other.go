//go:build !linux

package pages

// mapPages returns nil: bytes that can't be sent from pages are better kept on the heap.
func mapPages(int) []byte { return nil }

func unmapPages([]byte) {}

// Send fails: bytes can be sent from pages on Linux only.
func Send(int, []byte, []byte) (int, error) { return 0, ErrUnsupported }
