package admin

import "net/http"

// Ringer is a Service whose keys are distributed over servers by a client-side rule.
type Ringer interface {
	Service
	// Ring returns the server of a key, given in the form that the application uses.
	Ring(key string) RingPlace
}

// RingPlace is the location of a key.
type RingPlace struct {
	Key       string `json:"key"`
	*RingSpot        // nil for a key without a server
	// Trouble is the reason why there is no server: empty-key, bad-key or long-key.
	Trouble string `json:"trouble,omitempty"`
}

// RingSpot describes how a key was mapped to its server. The meaning of hash and point
// depends on the distribution; without a ring, the point is an index.
type RingSpot struct {
	Hash   uint64 `json:"hash"`
	Point  uint64 `json:"point"`
	Server string `json:"server"` // its address, as in the configuration
	Sent   string `json:"sent"`   // the key sent to the server
}

// maxRingKeys is the maximum number of keys in a request.
const maxRingKeys = 1000

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
	case len(keys) > maxRingKeys:
		fail(w, http.StatusBadRequest, "%d keys are too many: at most %d at a time", len(keys), maxRingKeys)
		return
	}
	places := make([]RingPlace, len(keys))
	for i, key := range keys {
		places[i] = ringer.Ring(key)
	}
	answer(w, http.StatusOK, places)
}
