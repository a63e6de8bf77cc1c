package client

// ServerState is a snapshot of a server.
type ServerState struct {
	Address     string `json:"address"`
	Up          bool   `json:"up"`       // false: it is down and being probed
	Protocol    string `json:"protocol"` // text, meta or binary; auto before the first connection
	Connections int    `json:"connections"`
	Trouble     string `json:"trouble,omitempty"` // the last fault, kept until Close

	Hits    uint64 `json:"hits"`
	Misses  uint64 `json:"misses"`
	Failed  uint64 `json:"failed"` // gets that are neither
	Stored  uint64 `json:"stored"`
	Retries uint64 `json:"retries"`
	Writes  uint64 `json:"writes"` // batches of commands
}

// State returns the state of all servers, in their order. Counters continue from a
// service of the same name before a reload.
func (c *Client) State() []ServerState {
	list := make([]ServerState, len(c.servers))
	for i, s := range c.servers {
		list[i] = s.state()
	}
	return list
}

// Up reports whether a server is not marked down.
func (c *Client) Up(server int) bool { return !c.servers[server].down.Load() }

func (s *server) state() ServerState {
	m := s.metrics
	t := ServerState{
		Address: s.at.Address, Up: !s.down.Load(), Protocol: Protocol(s.protocol.Load()).String(), Connections: int(m.open.Load()),
		Hits: m.gets[Hit].Value(), Misses: m.gets[Miss].Value(), Stored: m.stores[Stored].Value(),
		Retries: m.retries.Value(), Writes: m.batches.Value(),
	}
	for _, failed := range m.gets[Down:] {
		t.Failed += failed.Value()
	}
	if trouble := s.trouble.Load(); trouble != nil {
		t.Trouble = *trouble
	}
	return t
}
