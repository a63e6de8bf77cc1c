package pages

import "errors"

// ErrUnsupported says that bytes can't be sent without copying them here: nothing was sent.
var ErrUnsupported = errors.New("pages: the system can't send without copying")
