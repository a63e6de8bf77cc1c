package spool

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// errorSharingViolation is ERROR_SHARING_VIOLATION.
const errorSharingViolation = syscall.Errno(32)

// lockFile opens the file exclusively until this handle is closed, by the system at the end
// of the process at the latest.
func lockFile(name string) (io.Closer, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}
