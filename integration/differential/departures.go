package differential

// departure is something that DynamoDB Local does otherwise than the service.
type departure struct {
	name string
	why  string
	// answers recognises it by the request and what both ends answered.
	answers func(r request, local, kasoku answer) bool
	// state recognises requests that leave other items behind, although their
	// answers are the same.
	state func(r request) bool
}

var departures = []departure{}
