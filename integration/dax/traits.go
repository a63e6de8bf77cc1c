package dax

// trait is something that a client makes different itself, whatever it is answered.
type trait struct {
	clients []string // none: all
	why     string
	// same tells that the two sides' answers to a step differ in nothing but the trait.
	same func(s step, direct, through answer) bool
}

var traits = []trait{}

// known tells whether the difference is one that the client makes.
func known(client string, s step, direct, through answer) bool {
	for _, t := range traits {
		if t.of(client) && t.same(s, direct, through) {
			return true
		}
	}
	return false
}

func (t trait) of(client string) bool {
	for _, c := range t.clients {
		if c == client {
			return true
		}
	}
	return len(t.clients) == 0
}
