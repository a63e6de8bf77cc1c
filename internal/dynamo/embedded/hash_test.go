package embedded

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

func keyOf(typ value.Type, text string) *value.Value {
	return &value.Value{Type: typ, Text: []byte(text)}
}

// TestScanOrderMatchesDynamoDB compares the order of partitions in scans with DynamoDB's.
func TestScanOrderMatchesDynamoDB(t *testing.T) {
	f := func(typ value.Type, order string) {
		t.Helper()
		want := strings.Fields(order)
		got := slices.SortedFunc(slices.Values(want), func(a, b string) int {
			return cmp.Compare(serviceHash(keyOf(typ, a)), serviceHash(keyOf(typ, b)))
		})
		if !slices.Equal(got, want) {
			t.Errorf("scanned in the order %v; want %v", got, want)
		}
	}
	f(value.String, "2 8 9 1 6 hello 0 5 4 äáöü aardman 7 3 zapf")
	f(value.Number, "7 999.9 8 3 2 -999.9 9 4 -0.09 6 1 0 0.012345 5")
}

// TestSegmentsMatchDynamoDB uses keys that DynamoDB returned in these segments of 4096.
func TestSegmentsMatchDynamoDB(t *testing.T) {
	f := func(typ value.Type, key string, want uint64) {
		t.Helper()
		h := serviceHash(keyOf(typ, key))
		if h < firstHash(want, 4096) || want < 4095 && h >= firstHash(want+1, 4096) {
			t.Errorf("%s is not in segment %d of 4096", key, want)
		}
	}
	f(value.String, "3635", 0)
	f(value.String, "228", 0)
	f(value.String, "1668", 1)
	f(value.String, "3435", 4)
	f(value.Number, "251", 1)
	f(value.Number, "2388", 4095)
}

// TestOrderOfEqualKeysMatchesDynamoDB compares the order of entries with one index key with the
// one in which DynamoDB returned items with these partition and sort keys.
func TestOrderOfEqualKeysMatchesDynamoDB(t *testing.T) {
	f := func(order string) {
		t.Helper()
		want := strings.Fields(order)
		got := slices.SortedFunc(slices.Values(want), func(a, b string) int {
			return cmp.Compare(serviceHash(keyOf(value.String, a[:1]), keyOf(value.String, a[1:])), serviceHash(keyOf(value.String, b[:1]), keyOf(value.String, b[1:])))
		})
		if !slices.Equal(got, want) {
			t.Errorf("got the order %v; want %v", got, want)
		}
	}
	f("bb aa ce ea da cd")
	f("aa da ba ca db cb")
}

func TestAppendPacked(t *testing.T) {
	f := func(number, want string) {
		t.Helper()
		if got := hex.EncodeToString(appendPacked(nil, []byte(number))); got != want {
			t.Errorf("%s is packed as %s; want %s", number, got, want)
		}
	}
	f("0", "80")
	f("1", "c102")
	f("10", "c10b")
	f("100", "c202")
	f("123", "c20218")
	f("-1", "3e6466")
	f("-123", "3d644e66")
	f("0.1", "c00b")
	f("0.01", "c002")
	f("0.001", "bf0b")
	f("12.5", "c10d33")
	f("-0.09", "3f5c66")
	f("99999999999999999999999999999999999999", "d3"+strings.Repeat("64", 19))
	f("-99999999999999999999999999999999999999", "2c"+strings.Repeat("02", 19)+"66")
	f("-9999999999999999999999999999999999999.9", "2c5c"+strings.Repeat("02", 18)+"0b")
}
