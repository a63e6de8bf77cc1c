package dax

// A request names its method by a number of 32 bits, and has as many arguments as that
// method takes: without knowing the method one can't even find the request's end.
const (
	serviceID = 1
	headItems = 2

	idAuthorizeConnection   = 1489122155
	idEndpoints             = 455855874
	idDefineKeySchema       = -742646399
	idDefineAttributeListID = -1230579644
	idDefineAttributeList   = 670678385
)

// method is something that clients may ask for.
type method struct {
	id        int32
	name      string // in the access log and in metrics: DynamoDB's, where it has one
	args      int
	serve     func(*call) // leaves the whole reply in the call's out; nil for authorizeConnection, which nobody answers
	unlimited bool        // no bound on the rate: clients look after the server with it

	series *methodMetrics // of the server whose table the method is in
}

// metadata are the methods that are about the server and what a client has to know of
// it; operations are those that are about data.
var metadata = []method{
	{id: idAuthorizeConnection, name: "authorizeConnection", args: 5},
	{id: idEndpoints, name: "endpoints", args: 0, serve: (*call).endpoints, unlimited: true},
	{id: idDefineKeySchema, name: "defineKeySchema", args: 1, serve: (*call).defineKeySchema},
	{id: idDefineAttributeListID, name: "defineAttributeListId", args: 1, serve: (*call).defineAttributeListID},
	{id: idDefineAttributeList, name: "defineAttributeList", args: 1, serve: (*call).defineAttributeList},
}

// methodTable is all methods of one server, those first that are asked for most.
type methodTable []*method

func newMethodTable(sets ...[]method) methodTable {
	var t methodTable
	for _, set := range sets {
		for _, m := range set {
			t = append(t, &m)
		}
	}
	return t
}

// find returns the method with that id, or nil.
func (t methodTable) find(id int64) *method {
	for _, m := range t {
		if int64(m.id) == id {
			return m
		}
	}
	return nil
}
