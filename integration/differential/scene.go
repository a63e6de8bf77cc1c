package differential

import "fmt"

// scene is a list of requests on its own tables. It depends only on the seed.
type scene struct {
	seed   uint64
	tables tables
	spare  string // the name of one more table
	steps  []request
}

func newScene(seed uint64, steps int) *scene {
	g := newGenerator(seed)
	s := &scene{seed: seed}
	for i := range 2 {
		s.tables = append(s.tables, g.schema(fmt.Sprintf("differ-%s-%d-%d", side, seed, i)))
	}
	g.tables = s.tables
	s.spare = fmt.Sprintf("differ-%s-%d-spare", side, seed)
	g.spare = spare{table: g.schema(s.spare)}
	for range steps {
		s.steps = append(s.steps, g.request())
	}
	return s
}
