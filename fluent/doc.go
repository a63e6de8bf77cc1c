// Package fluent sends structured records to Fluentd, Fluent Bit and whatever
// else reads the Fluentd forward protocol.
package fluent
