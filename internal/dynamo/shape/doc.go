// Package shape has the requests of the API as data: the members of each operation, their
// types and their bounds. Check compares a request with them and returns the service's error
// before the request is executed.
//
// # Two checks, two passes
//
// The service first checks the types of all values in a body (SerializationException, for
// the first value of the wrong type in the order of the text) and then the constraints of
// its members (ValidationException, up to ten of them in one message, in the order of the
// shape). Check does both in one pass over the text, which allocates nothing. Only a request
// that breaks a constraint is walked again, to collect the broken constraints.
//
// # What is checked elsewhere
//
// Rules that need more than one member, a table or an expression. Members for which the API
// defines only a type have no constraint here either, though their contents may be refused
// later.
package shape
