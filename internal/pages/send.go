package pages

import "errors"

// ErrCannot says that bytes can't be sent without copying them here: nothing was sent.
var ErrCannot = errors.New("pages: the system can't send without copying")
