// Package attr converts attribute values between DynamoDB's JSON, for example {"S":"text"},
// and the CBOR of the DAX protocol.
//
//	S text · B byte string · N number · BOOL true, false · NULL null
//	L array · M map of names to values · SS, NS, BS array behind a tag
package attr

// The tags of arrays that represent sets.
const (
	TagStrings = 3321
	TagNumbers = 3322
	TagBytes   = 3323
)

// maxDepth is the maximum nesting depth of lists and maps. DynamoDB accepts 32 and rejects
// deeper values with its own error, if they reach it.
const maxDepth = 60
