package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Verify holds the comparison of cached answers with the origin.
type Verify struct {
	// How many hits are compared at most: a number per `s`, `m` or `h`, for example 1/s or 10/m, and at
	// most 1000/s. They are taken at random times. A comparison never delays a request.
	Rate Rate `yaml:"rate" default:"1/s"`
	// How many read capacity units the comparisons may consume per second on average, for example 5
	// RCU. A strongly consistent read costs a unit for each 4 KB of the item, and for each 4 KB that a
	// query or scan reads.
	Budget ReadUnits `yaml:"budget" default:"5 RCU"`
	// `through`: all writes of the origin's tables pass through Kasoku, so that each difference that
	// they do not explain is a violation. With `mixed` that is so only for tables whose stream is
	// followed; for others, a write past Kasoku and a fault can't be distinguished before the TTL is
	// over. All writes to an embedded store pass through.
	Writes string `yaml:"writes" default:"mixed" enum:"mixed|through"`
}

// Rate is a number per time, for example 1/s or 10/m.
type Rate string

const maxRate = 1000

// PerSecond returns the number per second.
func (r Rate) PerSecond() float64 {
	number, unit, _ := strings.Cut(string(r), "/")
	n, err := strconv.ParseFloat(number, 64)
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || per == 0 {
		return math.NaN()
	}
	return n / per
}

func (r *Rate) set(text string) error {
	n := Rate(text).PerSecond()
	if math.IsNaN(n) {
		return fmt.Errorf("is no rate; write for instance 1/s, 10/m or 30/h")
	}
	if !(n > 0 && n <= maxRate) {
		return fmt.Errorf("must be more than 0, and %d/s at most", maxRate)
	}
	*r = Rate(text)
	return nil
}

func (r Rate) String() string { return string(r) }

// ReadUnits is a number of read capacity units.
type ReadUnits float64

const maxReadUnits = 100_000

func (u *ReadUnits) set(text string) error {
	number, _ := strings.CutSuffix(text, "RCU")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n > 0 && n <= maxReadUnits) {
		return fmt.Errorf("must be a number of read capacity units, at most %d; write for instance 5 RCU", maxReadUnits)
	}
	*u = ReadUnits(n)
	return nil
}

func (u ReadUnits) String() string { return strconv.FormatFloat(float64(u), 'g', -1, 64) + " RCU" }

// verify checks the comparison of cached answers.
func (k *checker) verify(path string, d *DynamoDB) {
	if d.Verify != nil && d.Verify.Writes == "through" && d.Origin.Embedded() {
		k.failf(path+".verify.writes", "has no effect: all writes to an embedded store pass through this process")
	}
}
