package jsonp

// Reason says why an answer is wrapped or not.
type Reason uint8

// The reasons. What they mean is told in Reasons.
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

// Action is what is to be done for a reason.
type Action uint8

const (
	// LeaveIt sends the answer as it is.
	LeaveIt Action = iota
	// WrapIt sends it wrapped.
	WrapIt
	// RefuseIt answers with the reason's Status and Refusal, and asks no origin.
	RefuseIt
	// DecodeIt judges again what the body is without its content coding: what is encoded
	// can't be wrapped, and must not go to a script that waits for its callback.
	DecodeIt
)

// ReasonInfo is what the outside sees of a reason.
type ReasonInfo struct {
	Reason Reason
	// Name is a token for metrics and for Cache-Status.
	Name   string
	Action Action
	// Help is a sentence or two for the operator.
	Help string
	// Status and Refusal are what a request is refused with: Refusal is
	// application/json and does not repeat what was asked for.
	Status  int
	Refusal string
	// Lines are header lines that an answer gets beside its own if it is left as it is
	// because of who asks. Without them a cache on the way, which knows it by its URL, would
	// give it to those whom it would be wrapped for.
	Lines string
}

// Reasons holds every reason at its own index.
var Reasons = []ReasonInfo{
	{Reason: Wrapped, Name: "wrapped", Action: WrapIt,
		Help: "The answer was wrapped in a call of the function that the request names."},
	{Reason: Enveloped, Name: "enveloped", Action: WrapIt,
		Help: "An error was wrapped together with its status, and sent as 200: browsers run no script that comes with another status."},
	{Reason: NoCallback, Name: "no-callback", Action: LeaveIt,
		Help: "The request names no callback."},
	{Reason: BadName, Name: "bad-name", Action: RefuseIt, Status: 400,
		Refusal: `{"error":"invalid_callback","reason":"the callback's name is not allowed"}`,
		Help:    "The callback has a name that the mode forbids, or different ones: 400. Many of these from pages that work elsewhere: look at mode and names."},
	{Reason: BadNamePassed, Name: "bad-name-passed", Action: LeaveIt,
		Help: "The callback has a name that the mode forbids, or different ones, and the configuration answers without it."},
	{Reason: NotScript, Name: "not-script", Action: RefuseIt, Status: 403,
		Refusal: `{"error":"not_script","reason":"the answer was not asked for as a script"}`,
		Help:    "A browser wants the answer for something else than a script, and the configuration gives calls to scripts only: 403."},
	{Reason: OtherMethod, Name: "method", Action: LeaveIt,
		Help: "Only GET and HEAD are what a script element sends."},
	{Reason: HasCredentials, Name: "credentials", Action: LeaveIt, Lines: "Cache-Control: private\r\n",
		Help: "The request has a Cookie or Authorization: any site could read the answer in its visitor's name. Where it is the same for everybody, say that the route is public."},
	{Reason: Encoded, Name: "encoded", Action: DecodeIt,
		Help: "The answer has a content coding that must be undone before it can be wrapped."},
	{Reason: OtherStatus, Name: "status", Action: LeaveIt,
		Help: "The status is not 200, 201 or 203 (mode legacy: 200), and the configuration wraps no others."},
	{Reason: NoBody, Name: "no-body", Action: LeaveIt,
		Help: "The status is one of an answer without a body."},
	{Reason: Part, Name: "part", Action: LeaveIt,
		Help: "The origin sent a part of the answer only."},
	{Reason: OtherType, Name: "type", Action: LeaveIt,
		Help: "The answer is not JSON by its Content-Type, nor of another type that the configuration names."},
	{Reason: NoContent, Name: "empty", Action: LeaveIt,
		Help: "The body is empty or has only white space: a call with nothing in it is no answer."},
	{Reason: NotJSON, Name: "not-json", Action: LeaveIt,
		Help: "The body does not begin as JSON does, whatever its Content-Type says. It may be wrapped already."},
}

// Info is the reason's row.
func (r Reason) Info() *ReasonInfo { return &Reasons[r] }

// Action is what is to be done for the reason.
func (r Reason) Action() Action { return Reasons[r].Action }

// String is the reason's name.
func (r Reason) String() string {
	if int(r) < len(Reasons) {
		return Reasons[r].Name
	}
	return "unknown"
}
