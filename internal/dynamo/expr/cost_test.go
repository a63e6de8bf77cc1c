package expr

import "testing"

// TestCost compares the costs of updates with measurements of the service.
func TestCost(t *testing.T) {
	v := values(t, `{":s":{"S":"yyyyyyyyyy"},":n":{"N":"1"},":l":{"L":[{"S":"yyyyyyyyyy"}]},":m":{"M":{"leaf":{"S":"yyyyyyyyyy"}}},":ss":{"SS":["yyyyyyyyyy"]}}`)
	f := func(text string, want int) {
		t.Helper()
		u, err := ParseUpdate([]byte(text), nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Cost(); got != 3+want {
			t.Errorf("%s: got %d; want %d", text, got, 3+want)
		}
	}
	f("SET c = :s", 19+1+10)
	f("SET b = :s, c = :s", 2*(19+1+10))
	f("SET c = :m", 19+1+3+1+4+10)
	f("SET c.leaf = :s", 19+1+4+4+10)
	f("SET c = :l", 19+1+3+1+10)
	f("SET c[0] = :s", 19+1+4+1+10)
	f("SET c = abcdefghij", 19+1+1+14+10)
	f("SET c = m.a.z", 19+1+1+3*(14+1))
	f("SET c = l[10]", 19+1+1+14+1+14+2)
	f("SET c = list_append(c, :l)", 19+1+37+1+14+1+3+1+10)
	f("SET c = list_append(:l, :l)", 19+1+37+2*(3+1+10))
	f("SET c = if_not_exists(c, :s)", 19+1+39+1+14+1+10)
	f("SET c = if_not_exists(c, :s), d = if_not_exists(d, :s)", 2*(19+1+39+1+14+1+10))
	f("SET c = c + :n", 19+1+34+1+14+1+2)
	f("SET c = c - :n", 19+1+37+1+14+1+2)
	f("ADD abcdefghij :n", 19+10+2)
	f("ADD ss :ss", 19+2+10)
	f("REMOVE abcdefghij", 1+10)
	f("REMOVE m.yyyyyyyyyy", 1+1+4+10)
	f("REMOVE l[10]", 1+1+4+2)
	f("DELETE abcdefghij :ss", 1+10)
}
