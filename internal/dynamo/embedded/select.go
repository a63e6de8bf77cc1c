package embedded

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// checkSelect finds the source of the requested attributes: they are in the table or index
// that is read, are fetched from the table, or are not available.
func (r *reading) checkSelect() error {
	if r.x == nil || r.x.Projection.Type == catalog.ProjectAll {
		return nil
	}
	if r.req.Select == selectAllAttributes {
		if !r.x.Local {
			return wire.Invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for "+
				"global secondary index %s because its projection type is not ALL", r.x.Name)
		}
		r.fetch = true
		return nil
	}
	missing := r.unprojected(rootNames(r.req.Projection))
	if len(missing) == 0 {
		return nil
	}
	if !r.x.Local {
		return wire.Invalid("One or more parameter values were invalid: Global secondary index %s does not project %s",
			r.x.Name, setText(missing))
	}
	r.fetch = r.req.Select != selectCount
	return nil
}

// checkFilterProjected refuses a query's filter on attributes that the index does not hold.
// In a scan, items appear to lack such attributes.
func (r *reading) checkFilterProjected() error {
	if r.x == nil || r.req.Scan {
		return nil
	}
	if missing := r.unprojected(r.filterNames); len(missing) > 0 {
		return wire.Invalid("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: %s",
			r.x.Name, setText(missing))
	}
	return nil
}

// unprojected returns the names that the index does not hold.
func (r *reading) unprojected(names []string) []string {
	var missing []string
	for _, name := range names {
		if !r.x.Projects(r.t.info, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// checkFilterKeys refuses a query's filter on attributes of the queried key.
func (r *reading) checkFilterKeys() error {
	if r.req.Filter == nil {
		return nil
	}
	schema := keySchema(r.req.Index, r.key)
	return invalid(r.req.Filter.CheckFilter(&schema))
}

// keySchema converts a key to expr's type.
func keySchema(index string, k *catalog.Key) expr.KeySchema {
	s := expr.KeySchema{Index: index, Hash: make([]expr.KeyAttribute, len(k.Hash)), Range: make([]expr.KeyAttribute, len(k.Range))}
	for i, a := range k.Hash {
		s.Hash[i] = expr.KeyAttribute(a)
	}
	for i, a := range k.Range {
		s.Range[i] = expr.KeyAttribute(a)
	}
	return s
}

// rootNames returns the first names of the paths, each once.
func rootNames(paths []expr.Path) []string {
	var names []string
	for _, p := range paths {
		if !slices.Contains(names, p[0].Name) {
			names = append(names, p[0].Name)
		}
	}
	return names
}

// setText formats names as the service's messages format a set: [a, b], in the order of a
// Java HashSet to which they were added one by one.
func setText(names []string) string {
	buckets := uint32(16)
	for len(names)*4 > int(buckets)*3 {
		buckets *= 2
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return int(javaHash(a)&(buckets-1)) - int(javaHash(b)&(buckets-1))
	})
	return "[" + strings.Join(sorted, ", ") + "]"
}

// javaHash returns the hash by which a Java HashSet chooses a string's bucket.
func javaHash(s string) uint32 {
	h := uint32(0)
	for _, unit := range utf16.Encode([]rune(s)) {
		h = h*31 + uint32(unit)
	}
	return h ^ h>>16
}
