package faults

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// answer returns the error for a request.
func (e *Error) answer(r *Request) *wire.Error {
	if e.Type == canceled {
		return e.canceled(r)
	}
	kind := errorKinds[e.Type]
	out := &wire.Error{Type: e.Type, Message: kind.message}
	if e.Message != "" {
		out.Message = e.Message
	}
	if kind.reasons == "" {
		return out
	}
	reasons := e.ThrottlingReasons
	if reasons == nil {
		reasons = []ThrottlingReason{{Reason: "Table" + r.kind() + kind.limit}}
	}
	out.Members = AppendThrottlingReasons(nil, kind.reasons, reasons, r.resource())
	return out
}

// Throughput returns the error for a request that exceeds the provisioned throughput of its first
// table.
func Throughput(r *Request) *wire.Error {
	return (&Error{Type: "ProvisionedThroughputExceededException"}).answer(r)
}

// AppendThrottlingReasons appends a member with the reasons. resource is the resource of those
// without one.
func AppendThrottlingReasons(dst []byte, member string, reasons []ThrottlingReason, resource string) []byte {
	dst = append(append(append(dst, '"'), member...), `":[`...)
	for i, t := range reasons {
		if i > 0 {
			dst = append(dst, ',')
		}
		if t.Resource == "" {
			t.Resource = resource
		}
		dst = append(append(append(dst, `{"reason":"`...), t.Reason...), '"')
		if t.Resource != "" {
			dst = wire.AppendQuoted(append(dst, `,"resource":`...), []byte(t.Resource))
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// canceled returns a TransactionCanceledException with a reason for each action. Without codes,
// the first action has the code TransactionConflict.
func (e *Error) canceled(r *Request) *wire.Error {
	given := e.CancellationReasons
	if len(given) == 0 {
		given = []string{"TransactionConflict"}
	}
	codes := make([]string, max(len(r.Items), 1))
	members := []byte(`"CancellationReasons":[`)
	for i := range codes {
		if codes[i] = "None"; i < len(given) {
			codes[i] = given[i]
		}
		if i > 0 {
			members = append(members, ',')
		}
		members = append(append(append(members, `{"Code":"`...), codes[i]...), '"')
		if message := cancellations[codes[i]]; message != "" {
			members = wire.AppendQuoted(append(members, `,"Message":`...), []byte(message))
		}
		members = append(members, '}')
	}
	message := e.Message
	if message == "" {
		message = "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	}
	return &wire.Error{Type: canceled, Message: message, Members: append(members, ']')}
}
