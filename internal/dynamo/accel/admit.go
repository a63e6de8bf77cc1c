package accel

import "github.com/kasoku/kasoku/internal/edge"

// Admit authenticates x, whose signature covers x as it was sent, and decodes its body. It
// is for routes in front of the service with another protocol.
//
// The returned function serves exchanges on behalf of that client. They must be requests in
// DynamoDB's own protocol, as for Serve, but without a signature. The function may be called
// any number of times, also concurrently, and doesn't allocate. It is nil if Admit has
// answered x with an error.
func (s *Service) Admit(x *edge.Exchange) (serve func(x *edge.Exchange)) {
	c := s.calls.Get().(*call)
	c.begin(s, x)
	defer c.finish()
	if !c.authenticate() || !c.decode() {
		x.Unauthenticated = c.unauthenticated()
		return nil
	}
	return c.principal.serve
}

// withServe returns a copy of p whose serve function acts on its behalf.
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
