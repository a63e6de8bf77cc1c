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
	// RefuseIt answers 400 with Refusal, and asks no origin.
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
}

// Reasons holds every reason at its own index.
var Reasons = []ReasonInfo{
	{Wrapped, "wrapped", WrapIt, "The answer was wrapped in a call of the function that the request names."},
	{Enveloped, "enveloped", WrapIt, "An error was wrapped together with its status, and sent as 200: browsers run no script that comes with another status."},
	{NoCallback, "no-callback", LeaveIt, "The request names no callback."},
	{BadName, "bad-name", RefuseIt, "The callback has a name that the mode forbids, or different ones: 400. Many of these from pages that work elsewhere: look at mode and names."},
	{BadNamePassed, "bad-name-passed", LeaveIt, "The callback has a name that the mode forbids, or different ones, and the configuration answers without it."},
	{OtherMethod, "method", LeaveIt, "Only GET and HEAD are what a script element sends."},
	{HasCredentials, "credentials", LeaveIt, "The request has a Cookie or Authorization: any site could read the answer in its visitor's name. Where it is the same for everybody, say that the route is public."},
	{Encoded, "encoded", DecodeIt, "The answer has a content coding that must be undone before it can be wrapped."},
	{OtherStatus, "status", LeaveIt, "The status is not 200, 201 or 203 (mode legacy: 200), and the configuration wraps no others."},
	{NoBody, "no-body", LeaveIt, "The status is one of an answer without a body."},
	{Part, "part", LeaveIt, "The origin sent a part of the answer only."},
	{OtherType, "type", LeaveIt, "The answer is not JSON by its Content-Type, nor of another type that the configuration names."},
	{NoContent, "empty", LeaveIt, "The body is empty or has only white space: a call with nothing in it is no answer."},
	{NotJSON, "not-json", LeaveIt, "The body does not begin as JSON does, whatever its Content-Type says. It may be wrapped already."},
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

// Refusal is the body of the 400 for BadName. It is application/json and does not
// repeat what was asked for.
const Refusal = `{"error":"invalid_callback","reason":"the callback's name is not allowed"}`
