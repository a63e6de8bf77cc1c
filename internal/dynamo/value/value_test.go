package value

import "testing"

func TestRoundTrip(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		v, err := ParseItem([]byte(in))
		if err != nil {
			t.Errorf("ParseItem(%s): %v", in, err)
			return
		}
		if got := string(v.AppendItem(nil)); got != want {
			t.Errorf("ParseItem(%s) gives %s; want %s", in, got, want)
		}
	}
	f(`{}`, `{}`)
	f(` { "a" : { "S" : "x" } , "b":{"N":"1.50e3"}}`, `{"a":{"S":"x"},"b":{"N":"1500"}}`)
	f(`{"a":{"M":{"x":{"L":[{"BOOL":true},{"NULL":true}]},"x":{"SS":["","a"]}}},"b":{"BS":["AA==",""]},"c":{"B":"AAE="}}`,
		`{"a":{"M":{"x":{"SS":["","a"]}}},"b":{"BS":["AA==",""]},"c":{"B":"AAE="}}`)
}
