package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// VerifyStatement has the figures of the services whose cached answers can be verified.
type VerifyStatement struct {
	Services []Verification `json:"services"`
}

// verification answers with the figures of one service, or of all.
func (s *Server) verification(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("service")
	if name != "" && s.verifier(w, name) == nil {
		return
	}
	o := s.overview()
	out := VerifyStatement{Services: []Verification{}}
	for _, m := range o.Services {
		if v, ok := m.Service.(Verifier); ok && (name == "" || m.Name() == name) {
			out.Services = append(out.Services, verificationOf(&o, v))
		}
	}
	answer(w, http.StatusOK, out)
}

// verificationOf returns the figures of a service with the name of this node.
func verificationOf(o *Overview, v Verifier) Verification {
	figures := v.Verification()
	if o.Cluster != nil {
		figures.Node = o.Cluster.Status().Node
		for i := range figures.Recent {
			figures.Recent[i].Node = figures.Node
		}
	}
	return figures
}

// verifier returns the Verifier of a service, or answers the request with an error and returns nil.
func (s *Server) verifier(w http.ResponseWriter, name string) Verifier {
	svc := s.find(w, name)
	if svc == nil {
		return nil
	}
	if v, ok := svc.(Verifier); ok {
		return v
	}
	fail(w, http.StatusBadRequest, "answers of service %s can't be verified: only services of type dynamodb have strongly consistent reads", name)
	return nil
}

// verify makes the comparisons of a request, and sends the progress.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) {
	var req VerifyRequest
	if !take(w, r, &req) {
		return
	}
	v := s.verifier(w, req.Service)
	if v == nil {
		return
	}
	node := ""
	if c := s.overview().Cluster; c != nil {
		node = c.Status().Node
	}
	control := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	var p VerifyProgress
	begun := false
	send := func() {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		_ = control.SetWriteDeadline(time.Now().Add(time.Minute)) // a later one than the server's
		_ = enc.Encode(p)
		_ = control.Flush()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	err := v.Verify(ctx, &req, func(now VerifyProgress) {
		for i := range now.Violations {
			now.Violations[i].Node = node
		}
		p = now
		send()
	})
	if !begun {
		s.verifyRefused(w, err)
		return
	}
	p.Problems, p.Violations = nil, nil // sent already
	if p.Done = err == nil; err != nil {
		p.Error = err.Error()
	}
	send()
	s.log.Info("verified", "service", req.Service, "checked", p.Checked(), "violations", p.VerifyCounts.Violations, "by", r.RemoteAddr, "result", fmt.Sprint(err))
}

// verifyRefused answers a request that was not begun.
func (s *Server) verifyRefused(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrBusy) {
		fail(w, http.StatusConflict, "%v", err)
		return
	}
	s.failed(w, "verify", err)
}

// Result returns the result in words: what share of answers is right, with which confidence.
func (c *VerifyCounts) Result() string {
	text := fmt.Sprintf("%d answers checked, %d violations", c.Checked(), c.Violations)
	switch {
	case c.Violations > 0:
		return text
	case c.Checked() == 0:
		return text + ": this proves nothing"
	}
	return fmt.Sprintf("%s: at least %s %% are right, with a confidence of 95 %%", text, shareText(RightAtLeast(c.Checked())))
}

// shareText returns a share as a percentage with as many digits as it has after its nines, rounded
// down.
func shareText(share float64) string {
	digits := 1
	for rest := 1 - share; rest < 0.01 && digits < 12; rest *= 10 {
		digits++
	}
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Floor(share*100*scale)/scale, 'f', digits, 64)
}

// verified adds a row for each service with compared answers.
func verified(b *bytes.Buffer, o *Overview, services []ServiceJSON) {
	found := map[string]Verification{}
	for _, m := range o.Services {
		verifier, ok := m.Service.(Verifier)
		if !ok {
			continue
		}
		if v := verifier.Verification(); v.VerifyCounts != (VerifyCounts{}) {
			found[m.Name()] = v
		}
	}
	if len(found) == 0 {
		return
	}
	table(b, "VERIFIED\tCHECKED\tVIOLATIONS\tUNEXPLAINED\tEXPLAINED\tSKIPPED\tREAD UNITS\tRIGHT%", services, func(s *ServiceJSON) string {
		v, ok := found[s.Name]
		if !ok {
			return ""
		}
		right := ""
		if v.RightAtLeast != nil {
			right = "> " + shareText(*v.RightAtLeast)
		}
		return join(s.Name, count(v.Checked()), count(v.VerifyCounts.Violations), count(v.Unexplained), count(v.Explained), count(v.Skipped),
			strconv.FormatFloat(v.ReadUnits, 'f', 1, 64), right)
	})
}
