package partiql

import (
	"math"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
)

// maxPath is the maximum number of steps in a document path.
const maxPath = 32

var errEmptyComponent = &Error{"Path component cannot be an empty string"}

// pathOf converts a name, or a name with steps, to a document path.
func pathOf(n *node) (expr.Path, error) {
	if n.kind == nodeName {
		if n.word == "" {
			return nil, errEmptyComponent
		}
		return expr.Path{{Name: n.word, Index: -1}}, nil
	}
	if n.kind != nodePath {
		return nil, unexpectedComponent(n)
	}
	if root := n.nodes[0]; root.kind == nodeList {
		return nil, &Error{"A path cannot start with a list index" + position(root.pos)}
	}
	path, err := pathOf(n.nodes[0])
	if err != nil {
		return nil, err
	}
	for _, s := range n.nodes[1:] {
		step, err := stepOf(s)
		if err != nil {
			return nil, err
		}
		path = append(path, step)
	}
	return path, nil
}

func unexpectedComponent(n *node) error {
	return &Error{"Unexpected path component" + position(n.pos)}
}

func stepOf(n *node) (expr.Step, error) {
	switch n.kind {
	case nodeText, nodeName: // a bare name in brackets is one too
		if n.word == "" {
			return expr.Step{}, errEmptyComponent
		}
		return expr.Step{Name: n.word, Index: -1}, nil
	case nodeNumber:
		if strings.ContainsAny(n.word, ".eE") {
			return expr.Step{}, unexpectedComponent(n)
		}
		index, err := strconv.ParseInt(n.word, 10, 64)
		if err != nil || index < 0 || index > math.MaxInt32 {
			return expr.Step{}, &Error{"List index is not within the allowable range; index: [" + n.word + "]" + position(n.pos)}
		}
		return expr.Step{Index: int(index)}, nil
	case nodeWildcard:
		return expr.Step{}, &Error{"Wildcard path component like a[*].b are not supported" + position(n.pos)}
	case nodeUnpivot:
		return expr.Step{}, &Error{"Unpivot path component like a.*.b are not supported" + position(n.pos)}
	}
	return expr.Step{}, unexpectedComponent(n)
}

// columnName returns the name of a path's value in a SELECT: the last name in the path and
// the indexes after it.
func columnName(p expr.Path) string {
	last := len(p) - 1
	for p[last].Index >= 0 {
		last--
	}
	name := p[last].Name
	for _, s := range p[last+1:] {
		name += "[" + strconv.Itoa(s.Index) + "]"
	}
	return name
}

// checkPaths refuses paths that are too long or conflict.
func checkPaths(paths []expr.Path) error {
	for _, p := range paths {
		if err := checkDepth(p); err != nil {
			return err
		}
	}
	for i, later := range paths {
		for _, earlier := range paths[:i] {
			if how := earlier.Clash(later); how != "" {
				return &Error{"Two document paths " + how + " with each other; must remove or rewrite one of these paths; path one: " +
					later.String() + ", path two: " + earlier.String()}
			}
		}
	}
	return nil
}

func checkDepth(p expr.Path) error {
	if len(p) > maxPath {
		return &Error{"The document path has too many nesting levels; nesting levels: " + strconv.Itoa(len(p))}
	}
	return nil
}
