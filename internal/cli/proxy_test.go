package cli

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// The configuration allows exactly the algorithms that a group of origins has, and
// docs/origin.md describes each.
func TestBalanceAlgorithms(t *testing.T) {
	field, _ := reflect.TypeFor[config.Reach]().FieldByName("Balance")
	if got := strings.Split(field.Tag.Get("enum"), "|"); !slices.Equal(got, balance.Algorithms) {
		t.Errorf("the configuration allows %v; balance has %v", got, balance.Algorithms)
	}
	page, err := os.ReadFile("../../docs/origin.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range balance.Algorithms {
		if !strings.Contains(string(page), "| `"+a+"` |") {
			t.Errorf("docs/origin.md does not describe %s", a)
		}
	}
}
