package memcached

import (
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Reason is how a request was answered, or why it was a miss. Reasons describes them.
type Reason uint8

// The reasons.
const (
	FromMemcached Reason = iota
	FromNear
	FromStale
	Missing
	ServerDown
	ServerTimeout
	ServerGarbled
	ServerRefused
	Serialised
	Corrupt
	TooLarge
	UnknownFlags
	NoKey
	EmptyKey
	BadKey
	LongKey
	NoLocation
	OtherMethod
	BadCallback
	Fault
)

// ReasonInfo describes a reason to users.
type ReasonInfo struct {
	Reason Reason
	// Name is the metrics' label, and the detail in Cache-Status.
	Name string
	// Decision is the one in the access log. For a miss it is the default: the fallback's
	// engine sets another.
	Decision telemetry.Decision
	// Help is a sentence for the operator.
	Help string
}

// Reasons holds every reason at its own index. It is the source of metrics, Cache-Status and
// the manual.
var Reasons = []ReasonInfo{
	{FromMemcached, "memcached", telemetry.Hit, "Answered from memcached."},
	{FromNear, "near", telemetry.Hit, "Answered from the copy in this process (near_ttl)."},
	{FromStale, "stale", telemetry.HitStale, "Answered from memcached with a value that is past its ttl, while one request of all processes renews it (store.stale)."},
	{Missing, "missing", telemetry.Miss, "There is no value under the key. If a new configuration has only these, compare the distribution, namespace and order of servers with the writer's; kasoku ring prints the server of a key."},
	{ServerDown, "down", telemetry.Miss, "The key's server is down, no connection was made in time, or it refused the login (auth). /api/v1/report has the last cause."},
	{ServerTimeout, "timeout", telemetry.Miss, "The server did not answer in time (first_byte_timeout, timeout)."},
	{ServerGarbled, "garbled", telemetry.Miss, "The server's answer violated its protocol or was larger than max_value; the connection was closed."},
	{ServerRefused, "refused", telemetry.Miss, "The server answered with an error, such as being out of memory; the connection was closed."},
	{Serialised, "serialised", telemetry.Miss, "The value is an object of the writer's language, which no other program can read. The writer should store text."},
	{Corrupt, "corrupt", telemetry.Miss, "The value contradicts its flags or first bytes. Many of these: check values."},
	{TooLarge, "too-large", telemetry.Miss, "The value would be too large when it is decompressed."},
	{UnknownFlags, "unknown-flags", telemetry.Miss, "The value's flags are not those of the configured writer. Many of these: check values."},
	{NoKey, "no-key", telemetry.Miss, "The request lacks a part of the location's key, or has it twice."},
	{EmptyKey, "empty-key", telemetry.Miss, "The location's key is empty for the request."},
	{BadKey, "bad-key", telemetry.Miss, "The key has a byte that memcached does not allow, for example a space; it was not sent. key_escape sends such bytes as nginx does."},
	{LongKey, "long-key", telemetry.Miss, "The key is longer than 250 bytes with the namespace; it was not sent. long_keys: hash sends a digest."},
	{NoLocation, "no-location", telemetry.Pass, "No location has the request's path."},
	{OtherMethod, "method", telemetry.Pass, "The request has another method than GET and HEAD."},
	{BadCallback, "bad-callback", telemetry.Local, "The callback was refused: its name is not allowed, or the request is not for a script; jsonp.md has the rules."},
	{Fault, "fault", telemetry.CacheFault, "A fault inside Kasoku; answered 500. Always worth a bug report."},
}

// Info returns the reason's row.
func (r Reason) Info() *ReasonInfo { return &Reasons[r] }

// String returns the reason's name.
func (r Reason) String() string { return Reasons[r].Name }

// keyReasons are the reasons for requests without a key that can be sent.
var keyReasons = [...]Reason{
	key.Absent: NoKey, key.Empty: EmptyKey, key.BadByte: BadKey, key.TooLong: LongKey,
}

// valueReasons are the reasons for values that can't be sent.
var valueReasons = [...]Reason{
	value.Serialised: Serialised, value.Corrupt: Corrupt, value.TooLarge: TooLarge, value.Unknown: UnknownFlags,
}

// resultReasons are the reasons for results of a get without a value.
var resultReasons = [...]Reason{
	client.Miss: Missing, client.Down: ServerDown, client.Timeout: ServerTimeout, client.Garbled: ServerGarbled,
	client.Refused: ServerRefused, client.BadKey: BadKey,
}
