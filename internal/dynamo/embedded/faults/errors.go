package faults

import (
	"maps"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// canceled is the type of the error with reasons for each action of a transaction.
const canceled = "TransactionCanceledException"

// Messages of the service that other packages use as well.
const (
	TableThroughput  = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	IndexThroughput  = "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API."
	Conflict         = "Transaction is ongoing for the item"
	InProgress       = "The transaction with the given request token is already in progress."
	CollectionSize   = "Collection size exceeded."
	accountLimit     = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at https://aws.amazon.com/support request a limit increase"
	throttledAction  = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
	controlPlaneRate = "Subscriber limit exceeded: Only 500 tables can be created, updated, or deleted simultaneously"
)

// errorKind is the service's form of an error type.
type errorKind struct {
	message string
	// reasons is the name of the member with ThrottlingReasons; empty if the type has none.
	reasons string
	// limit is the end of the reason that is used if none is given.
	limit string
}

// errorKinds are the errors that rules can have.
var errorKinds = map[string]errorKind{
	"ThrottlingException":                      {"Rate of requests exceeds the allowed throughput.", "throttlingReasons", "KeyRangeThroughputExceeded"},
	"ProvisionedThroughputExceededException":   {TableThroughput, "ThrottlingReasons", "ProvisionedThroughputExceeded"},
	"RequestLimitExceeded":                     {accountLimit, "ThrottlingReasons", "AccountLimitExceeded"},
	"InternalServerError":                      {message: "Internal server error"},
	"ServiceUnavailable":                       {message: "The request has failed due to a temporary failure of the server."},
	"TransactionConflictException":             {message: Conflict},
	"TransactionInProgressException":           {message: InProgress},
	canceled:                                   {},
	"ItemCollectionSizeLimitExceededException": {message: CollectionSize},
	"LimitExceededException":                   {message: controlPlaneRate},
	"ConditionalCheckFailedException":          {message: "The conditional request failed"},
	"ResourceNotFoundException":                {message: "Requested resource not found"},
	"ResourceInUseException":                   {message: "Attempt to change a resource which is still in use"},
	"ReplicatedWriteConflictException":         {message: "One or more items in this request are being modified by a request in another Region."},
	"IdempotentParameterMismatchException":     {message: "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical"},
	"AccessDeniedException":                    {message: "You don't have permission to perform this operation."},
	"UnrecognizedClientException":              {message: "The security token included in the request is invalid."},
	"ValidationException":                      {message: "One or more parameter values were invalid"},
	"ExpiredIteratorException":                 {message: "Iterator expired. The iterator was created at a time that is more than 15 minutes ago."},
	"TrimmedDataAccessException":               {message: "The operation attempted to read past the oldest stream record in a shard."},
}

// errorNames are the names of errorKinds in order.
var errorNames = slices.Sorted(maps.Keys(errorKinds))

// cancellations are the codes of actions that cancel a transaction, with their messages.
var cancellations = map[string]string{
	"None":                            "",
	"ConditionalCheckFailed":          "The conditional request failed",
	"DuplicateItem":                   "Duplicate primary key exists in table",
	"ItemCollectionSizeLimitExceeded": CollectionSize,
	"ProvisionedThroughputExceeded":   TableThroughput,
	"ThrottlingError":                 throttledAction,
	"TransactionConflict":             Conflict,
	"ValidationError":                 "One or more parameter values were invalid.",
}

// throttlingReasons are the reasons that the service has.
var throttlingReasons = func() (all []string) {
	for _, resource := range []string{"Table", "Index"} {
		for _, kind := range []string{"Read", "Write"} {
			for _, limit := range []string{"ProvisionedThroughputExceeded", "AccountLimitExceeded", "KeyRangeThroughputExceeded", "MaxOnDemandThroughputExceeded"} {
				all = append(all, resource+kind+limit)
			}
		}
	}
	return all
}()

// operationNames are the names of all operations.
var operationNames = func() (all []string) {
	for _, ops := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		for i := range ops {
			all = append(all, ops[i].Name)
		}
	}
	return all
}()

// error reads an error: its type, or an object.
func (v *input) error() (e Error) {
	if wire.Kind(v.text) == '"' {
		e.Type = v.oneOf(errorNames, "error")
		return e
	}
	noted := len(*v.mistakes)
	v.members(map[string]func(*input){
		"type":                 func(m *input) { e.Type = m.oneOf(errorNames, "error") },
		"message":              func(m *input) { e.Message = m.word() },
		"throttling_reasons":   func(m *input) { e.ThrottlingReasons = m.throttlingReasons() },
		"cancellation_reasons": func(m *input) { e.CancellationReasons = m.cancellationReasons() },
	})
	switch {
	case len(*v.mistakes) > noted:
	case e.Type == "":
		v.wrong("type is missing")
	case len(e.ThrottlingReasons) > 0 && errorKinds[e.Type].reasons == "":
		v.wrong("%s has no throttling_reasons", e.Type)
	case len(e.CancellationReasons) > 0 && e.Type != canceled:
		v.wrong("%s has no cancellation_reasons", e.Type)
	}
	return e
}

func (v *input) throttlingReasons() (all []ThrottlingReason) {
	for _, e := range v.list() {
		var r ThrottlingReason
		e.members(map[string]func(*input){
			"reason":   func(m *input) { r.Reason = m.oneOf(throttlingReasons, "throttling reason") },
			"resource": func(m *input) { r.Resource = m.word() },
		})
		if r.Reason == "" {
			e.wrong("reason is missing")
		}
		all = append(all, r)
	}
	return all
}

func (v *input) cancellationReasons() (all []string) {
	codes := slices.Sorted(maps.Keys(cancellations))
	for _, e := range v.list() {
		all = append(all, e.oneOf(codes, "cancellation reason"))
	}
	return all
}
