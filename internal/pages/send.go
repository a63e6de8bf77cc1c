package pages

import "errors"

// ErrUnsupported is returned if bytes can't be sent without copying them: nothing was sent.
var ErrUnsupported = errors.New("pages: the system can't send without copying")
