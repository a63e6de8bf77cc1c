package streams

import (
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
