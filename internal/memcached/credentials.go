package memcached

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/memcached/key"
)

// keyed are the fields that a location's key contains, and fields that identify a client.
// Requests with the same key have the same values of the former.
type keyed struct {
	headers     []string // in lower case
	cookies     []string
	credentials []string // in lower case
}

// keyedBy returns the fields of a key's template. credentials are fields that identify a
// client, beside Authorization and Cookie.
func keyedBy(t *key.Template, credentials []string) keyed {
	k := keyed{cookies: t.Cookies(), credentials: []string{"authorization"}}
	for _, name := range t.Headers() {
		k.headers = append(k.headers, strings.ToLower(name))
	}
	for _, name := range credentials {
		k.credentials = append(k.credentials, strings.ToLower(name))
	}
	return k
}

// has reports whether the key contains a field, whose name is in lower case.
func (k *keyed) has(name string) bool {
	return slices.Contains(k.headers, name) || name == "cookie" && len(k.cookies) > 0
}

// personal reports whether a field identifies a client and is not in the key as a whole.
func (k *keyed) personal(f *http1.Field) bool {
	for _, name := range k.credentials {
		if f.Is(name) {
			return !slices.Contains(k.headers, name)
		}
	}
	return f.Is("Cookie") && !slices.Contains(k.headers, "cookie")
}

// covers reports whether the key contains all that identifies the client of a request, so
// that the answer is the same for all clients with that key.
func (k *keyed) covers(fields http1.Fields) bool {
	for i := range fields {
		f := &fields[i]
		if k.personal(f) && !(f.Is("Cookie") && len(k.anonymous(f.Value)) == len(bytes.TrimSpace(f.Value))) {
			return false
		}
	}
	return true
}

// sharedFields returns the fields for a request to the fallback that many clients share:
// without fields of one client, and without codings, so that all can use the answer.
func (k *keyed) sharedFields(fields http1.Fields) http1.Fields {
	kept := make(http1.Fields, 0, len(fields))
	for i := range fields {
		f := fields[i]
		switch {
		case f.Is("Accept-Encoding"):
			continue
		case f.Is("Cookie") && k.personal(&f):
			if f.Value = k.anonymous(f.Value); len(f.Value) == 0 {
				continue
			}
		case k.personal(&f):
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// anonymous returns the cookies of a line that are in the key. If all are, the line is
// returned unchanged.
func (k *keyed) anonymous(line []byte) []byte {
	line = bytes.TrimSpace(line)
	var kept []byte
	all := true
	for rest := line; len(rest) > 0; {
		var pair []byte
		pair, rest, _ = bytes.Cut(rest, []byte{';'})
		pair = bytes.TrimSpace(pair)
		name, _, _ := bytes.Cut(pair, []byte{'='})
		if !slices.Contains(k.cookies, string(name)) {
			all = false
			continue
		}
		if len(kept) > 0 {
			kept = append(kept, "; "...)
		}
		kept = append(kept, pair...)
	}
	if all {
		return line
	}
	return kept
}
