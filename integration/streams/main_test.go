package streams

import (
	"flag"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) {
	// The tests wait for streams most of the time, also on two CPUs.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	harness.Main(m)
}
