// Package attr translates attribute values between DynamoDB's JSON, such as
// {"S":"text"}, and CBOR as the DAX protocol has them.
//
//	S text · B byte string · N number · BOOL true, false · NULL null
//	L array · M map of names to values · SS, NS, BS array behind a tag
package attr

// The tags before the arrays that sets are.
const (
	TagStrings = 3321
	TagNumbers = 3322
	TagBytes   = 3323
)

// maxDepth is how deep lists and maps may stand in each other: DynamoDB takes 32, and
// refuses more in its own words as long as they get to it.
const maxDepth = 60
