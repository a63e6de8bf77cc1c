package pages

import "syscall"

// mapPages returns whole pages for that many bytes, nil if there are none. They are taken
// at once, which costs less than one at a time when they are written.
func mapPages(length int) []byte {
	mem, err := syscall.Mmap(-1, 0, int(SizeOf(int64(length))), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_POPULATE)
	if err != nil {
		return nil
	}
	return mem
}

// unmapPages returns pages to the system. It fails only for memory that mapPages has not
// returned.
func unmapPages(mem []byte) { _ = syscall.Munmap(mem) }
