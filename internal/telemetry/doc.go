// Package telemetry says what happened: how an exchange was answered
// ([Decisions]), one access-log line per exchange ([Sink]), and the counters and
// histograms behind /metrics ([Registry]).
//
// It sits on the path of every request, so nothing here takes a lock that all
// requests share, blocks, or allocates once warm.
package telemetry
