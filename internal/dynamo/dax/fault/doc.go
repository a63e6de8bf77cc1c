// Package fault writes errors in the format of DAX clients.
//
// An error reply is three CBOR values: an array of codes, a text, and null or an array of
// details. The first code is the class of the error, which identifies the cause, client or
// server, and whether to retry. The following codes identify the error from general to
// specific. Clients map the codes to an exception, or unknown codes to the error's name in
// the details.
//
//	[4, 37, 38, 39, 43]
//	"The conditional request failed"
//	[request id, "ConditionalCheckFailedException", 400]
package fault
