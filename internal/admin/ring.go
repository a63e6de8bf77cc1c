package admin

import "net/http"

// Ringer is a Service whose keys are spread over servers by a rule of their writer.
type Ringer interface {
	Service
	// Ring tells which server has a key, as the application calls it.
	Ring(key string) RingPlace
}

// RingPlace is where a key lives.
type RingPlace struct {
	Key       string `json:"key"`
	*RingSpot        // nil for a key that no server takes
	// Trouble is why no server takes it: empty-key, bad-key or long-key.
	Trouble string `json:"trouble,omitempty"`
}

// RingSpot is how a key got to its server. What hash and point are depends on the
// distribution; where there is no ring, the point is an index.
type RingSpot struct {
	Hash   uint64 `json:"hash"`
	Point  uint64 `json:"point"`
	Server string `json:"server"` // its address, as the configuration has it
	Sent   string `json:"sent"`   // the key that the server is asked for
}

// mostRingKeys bounds what one request can ask.
const mostRingKeys = 1000

func (s *Server) ring(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	svc := s.find(w, query.Get("service"))
	if svc == nil {
		return
	}
	ringer, ok := svc.(Ringer)
	keys := query["key"]
	switch {
	case !ok:
		fail(w, http.StatusBadRequest, "service %s spreads no keys over servers", svc.Name())
		return
	case len(keys) == 0:
		fail(w, http.StatusBadRequest, "give a key: ?service=%s&key=KEY", svc.Name())
		return
	case len(keys) > mostRingKeys:
		fail(w, http.StatusBadRequest, "%d keys are too many: at most %d at a time", len(keys), mostRingKeys)
		return
	}
	places := make([]RingPlace, len(keys))
	for i, key := range keys {
		places[i] = ringer.Ring(key)
	}
	answer(w, http.StatusOK, places)
}
