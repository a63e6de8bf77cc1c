package accel

import "github.com/kasoku/kasoku/internal/edge"

// Admit is for routes that stand before the service and speak another protocol. It
// finds out who sent x, whose signature covers x as it was sent, and decodes its
// body. What it returns answers exchanges in that client's name: they say what is
// asked in DynamoDB's own protocol, as Serve wants it, but for a signature. It may
// be used as often as wanted, for several exchanges at once, and allocates nothing.
// It is nil when x has been answered with a refusal.
func (s *Service) Admit(x *edge.Exchange) (ask func(x *edge.Exchange)) {
	c := s.calls.Get().(*call)
	c.begin(s, x)
	defer c.finish()
	if !c.authenticate() || !c.decode() {
		x.Unauthenticated = c.unauthenticated()
		return nil
	}
	return c.principal.serve
}

// withServe lets p be asked for.
func (s *Service) withServe(p *principal) *principal {
	known := *p
	known.serve = func(x *edge.Exchange) {
		c := s.calls.Get().(*call)
		c.begin(s, x)
		c.principal = &known
		defer c.finish()
		c.serve()
	}
	return &known
}
