// Package history keeps figures of services over the last hour and the last day: requests by class
// and the distribution of their times. They are in memory of constant size, and end with the
// process.
package history
