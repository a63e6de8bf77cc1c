package jsonp

// Reason is the reason why an answer is wrapped or not.
type Reason uint8

// The reasons. Reasons describes them.
const (
	Wrapped Reason = iota
	Enveloped
	NoCallback
	BadName
	BadNamePassed
	NotScript
	OtherMethod
	HasCredentials
	Encoded
	OtherStatus
	NoBody
	Part
	OtherType
	NoContent
	NotJSON
)

// Action is the treatment of a request or an answer.
type Action uint8

const (
	// LeaveIt sends the answer unchanged.
	LeaveIt Action = iota
	// WrapIt sends it wrapped.
	WrapIt
	// RefuseIt answers with the reason's Status and Refusal; no origin is asked.
	RefuseIt
	// DecodeIt judges the body again without its content coding. An encoded body can't be
	// wrapped, and must not be sent to a script that waits for its callback.
	DecodeIt
)

// ReasonInfo describes a reason to users.
type ReasonInfo struct {
	Reason Reason
	// Name is a token for metrics and for Cache-Status.
	Name   string
	Action Action
	// Help is a sentence or two for the operator.
	Help string
	// Status and Refusal are the answer to a refused request. Refusal is application/json
	// and does not repeat anything of the request.
	Status  int
	Refusal string
	// Lines are header lines to add to an answer that is not wrapped because of the client.
	// Without them a cache on the way, whose key is the URL, would send it to clients whose
	// answer is to be wrapped.
	Lines string
}

// Reasons holds every reason at its own index.
var Reasons = []ReasonInfo{
	{Reason: Wrapped, Name: "wrapped", Action: WrapIt,
		Help: "The answer was wrapped in a call of the function that the request names."},
	{Reason: Enveloped, Name: "enveloped", Action: WrapIt,
		Help: "An error was wrapped together with its status, and sent as 200: browsers do not run a script sent with another status."},
	{Reason: NoCallback, Name: "no-callback", Action: LeaveIt,
		Help: "The request names no callback."},
	{Reason: BadName, Name: "bad-name", Action: RefuseIt, Status: 400,
		Refusal: `{"error":"invalid_callback","reason":"the callback's name is not allowed"}`,
		Help:    "The callback has a name that the mode forbids, or different ones: 400. Many of these from pages that work elsewhere: check mode and names."},
	{Reason: BadNamePassed, Name: "bad-name-passed", Action: LeaveIt,
		Help: "The callback has a name that the mode forbids, or different ones, and the configuration answers without it."},
	{Reason: NotScript, Name: "not-script", Action: RefuseIt, Status: 403,
		Refusal: `{"error":"not_script","reason":"the answer was not asked for as a script"}`,
		Help:    "A browser wants the answer for something other than a script, and the configuration allows scripts only: 403."},
	{Reason: OtherMethod, Name: "method", Action: LeaveIt,
		Help: "The request is not GET or HEAD; a script element sends only these."},
	{Reason: HasCredentials, Name: "credentials", Action: LeaveIt, Lines: "Cache-Control: private\r\n",
		Help: "The request has a Cookie or Authorization: any site could read the answer in its visitor's name. If the answer is the same for all clients, set public for the route."},
	{Reason: Encoded, Name: "encoded", Action: DecodeIt,
		Help: "The answer has a content coding that must be undone before it can be wrapped."},
	{Reason: OtherStatus, Name: "status", Action: LeaveIt,
		Help: "The status is not 200, 201 or 203 (mode legacy: 200), and the configuration wraps no others."},
	{Reason: NoBody, Name: "no-body", Action: LeaveIt,
		Help: "Answers with this status have no body."},
	{Reason: Part, Name: "part", Action: LeaveIt,
		Help: "The origin sent only a part of the answer."},
	{Reason: OtherType, Name: "type", Action: LeaveIt,
		Help: "The Content-Type is not JSON and not in the configured types."},
	{Reason: NoContent, Name: "empty", Action: LeaveIt,
		Help: "The body is empty or has only white space: a call without an argument is not an answer."},
	{Reason: NotJSON, Name: "not-json", Action: LeaveIt,
		Help: "The body does not begin as JSON does, despite its Content-Type. It may be wrapped already."},
}

// Info returns the reason's row.
func (r Reason) Info() *ReasonInfo { return &Reasons[r] }

// Action returns the treatment for the reason.
func (r Reason) Action() Action { return Reasons[r].Action }

// String returns the reason's name.
func (r Reason) String() string {
	if int(r) < len(Reasons) {
		return Reasons[r].Name
	}
	return "unknown"
}
