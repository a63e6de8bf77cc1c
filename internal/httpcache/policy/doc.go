// Package policy implements the rules of RFC 9110, 9111, 9213, 5861, 8246 and 9875 for a
// shared cache as pure functions: the meaning of requests and responses, whether a response
// may be stored, and how a stored one may be used at a given time. It has no clock, no state
// and no I/O: the caller holds the stored responses and passes the time.
//
// A request is processed in this order:
//
//  1. [ParseRequest] parses the request's fields in one pass, without allocating.
//  2. [Matches] selects the stored responses of the URI that were negotiated alike, and
//     [Response.Better] the best of them.
//  3. [Decide] decides whether the selected one answers the request, and if not, for which
//     reason the request is sent to the origin; [Absent] does so when there is none.
//  4. [Evaluate] turns a usable stored response into 200, 304, 206 or 416.
//  5. [Validation] builds the fields of a conditional request to the origin; [Updates] and
//     [UpdateFields] apply its 304, and [ParseResponse] and [Storable] judge any other
//     answer. [AfterFailure] decides what to do if there is no usable answer.
//
// For example, for a stored response r:
//
//	var q policy.Request
//	policy.ParseRequest(&q, []byte("GET"), fields, &options)
//	if d := policy.Decide(&q, &r, mark, now, &options); d.Action == policy.Use {
//		outcome := policy.Evaluate(nil, &q, &r, length, now, &options)
//		...
//	}
//
// Dates are Unix seconds and durations whole seconds, both signed, as in fields. Measured
// times are finer ([Moment]), so that a response is fresh for exactly its lifetime, whatever
// the fraction of the second in which it arrived. The reason for a decision is a [Reason],
// and one table, [Reasons], is the source of Cache-Status, metrics, logs and the manual.
package policy
