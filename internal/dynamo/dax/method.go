package dax

// A request contains the 32-bit number of its method, followed by the method's fixed number
// of arguments. The end of a request with an unknown method can't be determined.
const (
	serviceID = 1
	headItems = 2

	idAuthorizeConnection   = 1489122155
	idEndpoints             = 455855874
	idDefineKeySchema       = -742646399
	idDefineAttributeListID = -1230579644
	idDefineAttributeList   = 670678385
)

// method is a method that clients can call.
type method struct {
	id        int32
	name      string // in the access log and in metrics: DynamoDB's name, if any
	args      int
	serve     func(*call) // writes the reply to the call's out; nil for authorizeConnection, which has no reply
	unlimited bool        // exempt from the rate limit: clients check the server with it

	series *methodMetrics // metrics of the server that owns the method table
}

// metadata are the methods for information about the server and its tables; operations are
// the methods for data.
var metadata = []method{
	{id: idAuthorizeConnection, name: "authorizeConnection", args: 5},
	{id: idEndpoints, name: "endpoints", args: 0, serve: (*call).endpoints, unlimited: true},
	{id: idDefineKeySchema, name: "defineKeySchema", args: 1, serve: (*call).defineKeySchema},
	{id: idDefineAttributeListID, name: "defineAttributeListId", args: 1, serve: (*call).defineAttributeListID},
	{id: idDefineAttributeList, name: "defineAttributeList", args: 1, serve: (*call).defineAttributeList},
}

// methodTable lists all methods of a server, the most frequent first.
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

// find returns the method with the given ID, or nil.
func (t methodTable) find(id int64) *method {
	for _, m := range t {
		if int64(m.id) == id {
			return m
		}
	}
	return nil
}
