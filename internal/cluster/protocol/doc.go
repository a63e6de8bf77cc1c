// Package protocol is the logic of a cluster of caches before one origin, as a state machine
// without a clock, a goroutine or a network: events are method calls with the present time,
// and what is to be done is returned as effects.
package protocol
