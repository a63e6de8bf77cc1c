package fault

import "net/http"

// The classes of errors: always the first code.
const (
	retry  = 1 // server error; retry
	client = 4 // client error
)

// The meanings of the further codes.
const (
	service         = 23 // DAX itself
	authentication  = 31
	badSignature    = 32
	unauthenticated = 33
	dynamo          = 37 // behind DAX
	dynamoError     = 38
	exception       = 39
	accessDenied    = 42
	validation      = 46
	internal        = 47
	unnamed         = 99 // an exception without a code: clients use its name
)

// exceptions maps DynamoDB's exceptions to their codes.
var exceptions = map[string]uint8{
	"ProvisionedThroughputExceededException":   40,
	"ResourceNotFoundException":                41,
	"ConditionalCheckFailedException":          43,
	"ResourceInUseException":                   45,
	"ValidationException":                      validation,
	"InternalServerError":                      internal,
	"ItemCollectionSizeLimitExceededException": 48,
	"LimitExceededException":                   49,
	"ThrottlingException":                      50,
	"TransactionConflictException":             57,
	"TransactionCanceledException":             58,
	"TransactionInProgressException":           59,
	"IdempotentParameterMismatchException":     60,
	"RequestLimitExceeded":                     61,
}

// codesOf returns the codes of an exception. Server errors are marked as retryable, under
// the exception's own name, so that the client's user sees the same error as with DynamoDB's
// SDK.
func codesOf(typ string, status int) []uint8 {
	if typ == "AccessDeniedException" {
		return []uint8{client, dynamo, dynamoError, accessDenied}
	}
	class := uint8(client)
	if status >= http.StatusInternalServerError {
		class = retry
	}
	code, ok := exceptions[typ]
	switch {
	case ok:
	case class == retry:
		code = internal
	default:
		code = unnamed
	}
	return []uint8{class, dynamo, dynamoError, exception, code}
}
