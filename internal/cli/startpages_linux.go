package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is a part of the process's address space, from an address up to another.
type mapping struct{ from, to uintptr }

// releaseStartPages unmaps the code and the constants of the executable that have been used so far.
// A start uses most of them, once: hundreds of packages initialize themselves, and for each page
// that is used the kernel maps up to 15 more. They are the larger part of the memory of an idle
// process. They are not removed from the page cache, from which the kernel maps those that are used
// again.
//
// Where the page cache has the file in huge pages, which a program that writes 2 MiB at once makes
// of it, each byte that is used again maps 2 MiB, and less is gained.
func releaseStartPages() error {
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	return releaseFile(executable)
}

// releaseFile unmaps the pages of a file whose bytes have not been changed in memory.
func releaseFile(name string) error {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	for _, m := range unchanged(smaps, name) {
		if err := m.advise(unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return nil
}

// advise sets how the kernel treats a mapping.
func (m mapping) advise(advice uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, advice); errno != 0 {
		return fmt.Errorf("madvise: %w", errno)
	}
	return nil
}

// unchanged returns the mappings of a file, by a text like /proc/self/smaps, that can't be written
// to and have only the bytes of the file. Others must keep their pages: the dynamic linker, for
// example, makes a mapping read-only after it has written addresses into it.
func unchanged(smaps []byte, file string) (list []mapping) {
	var m mapping
	var ofFile bool
	for line := range bytes.Lines(smaps) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) < 2:
		case fields[0] == "Anonymous:":
			if ofFile && fields[1] == "0" {
				list = append(list, m)
			}
		case !strings.HasSuffix(fields[0], ":"):
			m = mapping{}
			_, err := fmt.Sscanf(fields[0], "%x-%x", &m.from, &m.to)
			ofFile = err == nil && fields[1][1] == '-' && bytes.HasSuffix(bytes.TrimSpace(line), []byte(" "+file))
		}
	}
	return list
}
