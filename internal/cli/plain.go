package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/plain"
	"github.com/kasoku/kasoku/internal/edge"
)

// handler is what answers the requests of a mount that s is the configuration of:
// the service, or the plain-JSON routes before it. The routes are made once, so that
// what /Status tells lives through reloads.
func (m *mount) handler(s *config.Service) edge.Handler {
	if !s.DynamoDB.PlainJSON {
		return m.service
	}
	if m.routes == nil {
		m.routes = plain.New(s.Name, m.service, plainConfig(s.DynamoDB))
	}
	return m.routes
}

// handle lets requests from now on be answered as s says.
func (m *mount) handle(s *config.Service) {
	h := m.handler(s)
	if m.routes != nil {
		m.routes.Configure(plainConfig(s.DynamoDB))
	}
	m.server.SetHandler(h)
}

func plainConfig(d *config.DynamoDB) plain.Config {
	pc := plain.Config{Lists: d.Arrays == "lists"}
	for i := range d.Tables {
		rule := plain.TableRule{Pattern: d.Tables[i].Pattern}
		if arrays := d.Tables[i].Arrays; arrays != "" {
			lists := arrays == "lists"
			rule.Lists = &lists
		}
		pc.Tables = append(pc.Tables, rule)
	}
	return pc
}
