package httpcache

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/glob"
)

// Routes divide the paths of a site into the parts by which requests are counted.
type Routes struct {
	patterns []route
}

type route struct {
	pattern string
	name    []byte // the same text
}

// NewRoutes returns routes with patterns as in package glob.
func NewRoutes(patterns []string) *Routes {
	r := &Routes{}
	for _, p := range patterns {
		r.patterns = append(r.patterns, route{p, []byte(p)})
	}
	return r
}

// maxSegment is the maximum length of a segment that is a route by itself, in bytes.
const maxSegment = 64

var otherRoute = []byte("other")

// of returns the route of a path: the first pattern that it matches, otherwise its first segment.
// It returns the route "other" for a segment that is long or has bytes other than printable ASCII.
// The result may alias path.
func (r *Routes) of(path []byte) []byte {
	for i := range r.patterns {
		if glob.Match(r.patterns[i].pattern, path) {
			return r.patterns[i].name
		}
	}
	if len(path) == 0 || path[0] != '/' {
		return otherRoute
	}
	if end := bytes.IndexByte(path[1:], '/'); end >= 0 {
		path = path[:1+end]
	}
	if len(path) > maxSegment {
		return otherRoute
	}
	for _, c := range path {
		if c <= ' ' || c >= 0x7f {
			return otherRoute
		}
	}
	return path
}
