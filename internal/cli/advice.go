package cli

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/admin"
	rules "github.com/kasoku/kasoku/internal/advice"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/glob"
)

// adviseCommand prints suggested settings.
type adviseCommand struct {
	adminFlags
	JSON bool `help:"Print JSON."`
}

func (c *adviseCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	var r rules.Report
	if err := client.get("/api/v1/advice", &r); err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(env.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	admin.WriteAdvice(env.Stdout, &r, shown)
	if len(r.Suggestions) == 0 {
		fmt.Fprintln(env.Stdout, "There is no suggestion from the requests since the start.")
	}
	return nil
}

// advice returns suggestions from the figures and the settings of the node.
func (n *Node) advice() rules.Report {
	n.mu.Lock()
	mounts := n.mounts
	n.mu.Unlock()
	in := rules.Input{}
	shared := false
	for _, m := range mounts {
		s := n.advised(m)
		in.Services = append(in.Services, s)
		own := m.memory > 0
		if own || !shared {
			in.Memories = append(in.Memories, n.advisedMemory(m))
		}
		shared = shared || !own
	}
	return rules.Make(&in)
}

// advisedMemory returns the figures of the memory that a service uses.
func (n *Node) advisedMemory(m *mount) rules.Memory {
	u, z, whole := m.space.Usage(), m.space.Sizes(), uint64(n.boot.Cache.Limit())
	a := rules.Memory{
		Limit: whole, Whole: whole, Capacity: u.Capacity, Bytes: u.Bytes, Evictions: u.Evictions,
		Lookups: z.Lookups, Sampled: z.Sampled, Keys: z.Keys, HitRatio: z.HitRatio,
	}
	if !u.Shared {
		a.Service, a.Limit = m.service.Name(), uint64(m.memory)
	}
	if len(z.At) > 0 {
		a.Half, a.Double = z.At[0].HitRatio, z.At[len(z.At)-1].HitRatio
	}
	return a
}

// advised returns the figures and the settings of a service.
func (n *Node) advised(m *mount) rules.Service {
	n.mu.Lock()
	cfg := m.cfg
	n.mu.Unlock()
	r := m.service.Report()
	s := rules.Service{Name: cfg.Name, Type: r.Type, Decisions: r.Decisions}
	if cfg.HTTP != nil {
		s.StaleWhileRevalidate = cfg.HTTP.StaleWhileRevalidate.Std()
	}
	if cfg.DynamoDB == nil {
		return s
	}
	for _, f := range n.tables.Figures(cfg.Name) {
		if f.Table == "other" {
			continue // several tables
		}
		t := rules.Table{Name: f.Table, Decisions: f.Decisions, Queries: f.Queries}
		followed := slices.ContainsFunc(r.Streams, func(st admin.Stream) bool { return st.Table == f.Table })
		setTable(&t, cfg.DynamoDB, followed)
		s.Tables = append(s.Tables, t)
	}
	return s
}

// setTable sets the settings of a table.
func setTable(t *rules.Table, d *config.DynamoDB, followed bool) {
	t.ItemTTL, t.QueryTTL, t.NegativeTTL, t.StreamsMaxLag = config.UsualItemTTL, d.QueryTTL.Std(), d.NegativeTTL.Std(), d.StreamsMaxLag.Std()
	if followed {
		t.ItemTTL = config.FollowedItemTTL
	}
	if d.ItemTTL != nil {
		t.ItemTTL = d.ItemTTL.Std()
	}
	i := slices.IndexFunc(d.Tables, func(p config.Table) bool { return glob.Match(p.Pattern, t.Name) })
	if i < 0 {
		return
	}
	p := &d.Tables[i]
	t.Pattern = p.Pattern
	if !p.Cache {
		t.ItemTTL, t.QueryTTL, t.NegativeTTL = 0, 0, 0
		return
	}
	if p.ItemTTL != nil {
		t.ItemTTL = p.ItemTTL.Std()
	}
	if p.QueryTTL != nil {
		t.QueryTTL = p.QueryTTL.Std()
	}
	if p.NegativeTTL != nil {
		t.NegativeTTL = p.NegativeTTL.Std()
	}
	if p.StreamsMaxLag != nil {
		t.StreamsMaxLag = p.StreamsMaxLag.Std()
	}
}
