package tree

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/item"
)

// Projection appends the text of a projection and returns its paths in order: the reply
// identifies them by position.
func (w *Placeholders) Projection(dst, container []byte) (text []byte, paths []item.Path, err error) {
	r := w.open(container, 2, maxTree)
	p := printer{w: w}
	n := r.Array()
	for r.More(&n) {
		if len(paths) > 0 {
			dst = append(dst, ", "...)
		}
		ahead := r
		dst = p.target(dst, &r)
		paths = append(paths, readPath(&ahead))
	}
	if err := r.Close(); err != nil {
		return dst, nil, fmt.Errorf("a projection can't be read: %w", err)
	}
	return dst, paths, nil
}

// readPath reads a path that target has validated.
func readPath(r *cbor.Reader) (p item.Path) {
	n := r.Array() - 1
	r.Int()
	for i := 0; i < n && r.Err() == nil; i++ {
		if i > 0 && r.Kind() == cbor.Tag {
			p = append(p, item.Step{Index: readIndex(r)})
		} else {
			p = append(p, item.Step{Name: string(r.Text()), Index: -1})
		}
	}
	return p
}
