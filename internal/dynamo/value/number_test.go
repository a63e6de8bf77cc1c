package value

import (
	"strings"
	"testing"
)

func TestSums(t *testing.T) {
	f := func(a, b, sum, difference string) {
		t.Helper()
		for _, c := range []struct {
			name string
			f    func(a, b []byte) ([]byte, error)
			want string
		}{{"Add", Add, sum}, {"Sub", Sub, difference}} {
			got, err := c.f([]byte(a), []byte(b))
			if text, fault := strings.CutPrefix(c.want, "!"); fault {
				wantFault(t, c.name+" "+a+" "+b, err, "ValidationException", text)
			} else if err != nil || string(got) != c.want {
				t.Errorf("%s(%s, %s) = %s, %v; want %s", c.name, a, b, got, err, c.want)
			}
		}
	}
	const overflow = "!Number overflow. Attempting to store a number with magnitude larger than supported range"
	const underflow = "!Number underflow. Attempting to store a number with magnitude smaller than supported range"
	f("1", "2", "3", "-1")
	f("0.1", "0.2", "0.3", "-0.1")
	f("5", "5", "10", "0")
	f("-7", "0", "-7", "-7")
	f("0", "-7", "-7", "7")
	f("0", "0", "0", "0")
	f("1e3", "1", "1001", "999")
	f("1e50", "1", overflow, overflow)
	f("1e38", "1", overflow, strings.Repeat("9", 38))
	f("9e125", "1e125", overflow, "8"+strings.Repeat("0", 125))
	f("-9e125", "1e125", "-8"+strings.Repeat("0", 125), overflow)
	f("1.1e-130", "1e-130", "0."+strings.Repeat("0", 129)+"21", underflow)
	f("x", "1", "!The parameter cannot be converted to a numeric value: x", "!The parameter cannot be converted to a numeric value: x")
	f("1", "", "!The parameter cannot be converted to a numeric value", "!The parameter cannot be converted to a numeric value")
}
