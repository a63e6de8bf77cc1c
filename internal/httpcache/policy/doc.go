// Package policy is what RFC 9110, 9111, 9213, 5861, 8246 and 9875 say about a
// shared cache, as pure functions: what a request asks for, what a response
// allows, whether it may be stored, and how a stored one may be used at a given
// time. It has no clock, keeps nothing and does no I/O: whoever calls it holds
// the stored responses and says what time it is.
//
// A request goes through it in this order:
//
//  1. [ParseRequest] reads the request's fields in one pass, without allocating.
//  2. [Matches] says which stored responses of the URI were negotiated alike,
//     and [Response.Better] which of several to take.
//  3. [Decide] says whether the one selected answers the request, and if not, why
//     the origin is asked; [Absent] does so when there is none.
//  4. [Evaluate] turns a usable stored response into 200, 304, 206 or 416.
//  5. [Validation] makes the fields of a conditional request to the origin;
//     [Updates] and [UpdateFields] apply its 304, and [ParseResponse] and [Storable]
//     judge anything else that comes back. [AfterFailure] says what to do when
//     nothing usable comes back.
//
// Dates are Unix seconds and durations whole seconds, both signed, as fields have
// them. What is measured here is finer ([Moment]), so that a response is fresh for
// as long as it says, whatever part of a second it came in. Why something was
// decided is a [Reason], and one table, [Reasons], feeds Cache-Status, metrics, logs
// and the manual.
package policy
