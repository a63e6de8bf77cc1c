// Package shape has the requests of the API as data: which members an operation
// takes, of which types, within which bounds. Check holds a request against
// them and finds the service's words for what is wrong, before anything is done
// with the request.
//
// # Two questions, two passes
//
// The service looks at the types of everything in a body first
// (SerializationException, at the first misfit in the order of the text) and
// then at the constraints of its members (ValidationException, up to ten of them
// in one message, in the order of the shape). Check asks both in one pass over
// the text, which allocates nothing; only a request that breaks a constraint is
// walked again, to collect what it breaks.
//
// # What is not here
//
// Rules that need more than one member, a table or an expression. Members of
// which the API says nothing but the type have no constraint here either, though
// their contents may be refused later.
package shape
