package expr

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// matchItem is the item that conditions are evaluated on.
const matchItem = `{"n":{"N":"5"},"ten":{"N":"10"},"same":{"N":"5"},"s":{"S":"abc"},"t":{"S":"abd"},"blank":{"S":""},"wide":{"S":"\ud83d\ude00\u00e9x"},
	"b":{"B":"AAEC"},"yes":{"BOOL":true},"nil":{"NULL":true},"ss":{"SS":["b","a"]},"ns":{"NS":["5","1"]},"bs":{"BS":["AA==","AQ=="]},
	"l":{"L":[{"S":"abc"},{"N":"5"},{"L":[{"N":"1"}]},{"M":{"deep":{"S":"x"}}}]},"m":{"M":{"k":{"N":"5"},"x.y":{"S":"dot"},"l":{"L":[]}}},"ltwin":{"L":[{"S":"abc"},{"N":"5.0"},{"L":[{"N":"1"}]},{"M":{"deep":{"S":"x"}}}]}}`

func item(t testing.TB, text string) *value.Value {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := value.ParseItem([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &v
}

func TestMatch(t *testing.T) {
	it := item(t, matchItem)
	n := names(t, `{"#b":"b","#dot":"x.y"}`)
	v := values(t, `{":5":{"N":"5"},":5e0":{"N":"5e0"},":6":{"N":"6"},":1":{"N":"1"},":0":{"N":"0"},":2":{"N":"2"},":3":{"N":"3"},":4":{"N":"4"},
		":abc":{"S":"abc"},":abd":{"S":"abd"},":ab":{"S":"ab"},":b":{"S":"b"},":bc":{"S":"bc"},":none":{"S":""},":s5":{"S":"5"},":x":{"S":"x"},":dot":{"S":"dot"},
		":bin":{"B":"AAEC"},":bin0":{"B":"AAE="},":bin1":{"B":"AQ=="},":bin9":{"B":"CQ=="},":yes":{"BOOL":true},":no":{"BOOL":false},":nil":{"NULL":true},
		":ss":{"SS":["a","b"]},":ssa":{"SS":["a"]},":ns":{"NS":["1.0","5"]},":bs":{"BS":["AQ==","AA=="]},
		":l":{"L":[{"S":"abc"},{"N":"5"},{"L":[{"N":"1"}]},{"M":{"deep":{"S":"x"}}}]},":lback":{"L":[{"N":"5"},{"S":"abc"}]},":l1":{"L":[{"N":"1.0"}]},
		":m":{"M":{"x.y":{"S":"dot"},"l":{"L":[]},"k":{"N":"5.00"}}},":m1":{"M":{"deep":{"S":"x"}}},
		":S":{"S":"S"},":N":{"S":"N"},":B":{"S":"B"},":SS":{"S":"SS"},":NS":{"S":"NS"},":BS":{"S":"BS"},":L":{"S":"L"},":M":{"S":"M"},":BOOL":{"S":"BOOL"},":NULL":{"S":"NULL"}}`)
	f := func(text string, want bool) {
		t.Helper()
		c, err := ParseCondition("Condition", []byte(text), n, v)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := c.Match(it); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	holds := func(text string) { t.Helper(); f(text, true); f("NOT "+text, false) }
	fails := func(text string) { t.Helper(); f(text, false); f("NOT "+text, true) }

	// Equality: of values of one type, deep, sets without order, numbers by value.
	for _, eq := range []string{"n = :5", "n = :5e0", "n = same", ":5 = n", ":5 = :5e0", "s = :abc", "blank = :none", "b = :bin", "yes = :yes", "nil = :nil",
		"ss = :ss", "ns = :ns", "bs = :bs", "l = :l", "l = ltwin", "m = :m", "m.k = n", "m.#dot = :dot", "l[0] = s", "l[1] = n", "l[2][0] = :1", "l[3].deep = :x"} {
		holds(eq)
	}
	for _, eq := range []string{"n = :6", "n = :s5", "s = :abd", "b = :bin0", "yes = :no", "ss = :ssa", "ns = ss", "l = :lback", "m = :m1", "nil = :no", "blank = :nil",
		"nix = :5", "nix = gone", "m.nix = :5", "m[0] = :5", "l.k = :5", "l[4] = :5", "l[1].x = :5", "s[0] = :5", "s.x = :5"} {
		fails(eq)
	}
	// <> is true if an operand has no value.
	for _, ne := range []string{"n <> :6", "n <> :s5", "s <> :abd", "nix <> :5", ":5 <> nix", "nix <> gone", "l <> :lback", "size(nix) <> :0", "size(n) <> :0"} {
		holds(ne)
	}
	for _, ne := range []string{"n <> :5e0", "n <> same", "l <> ltwin", "ss <> :ss", "nil <> :nil"} {
		fails(ne)
	}
	// Order: of two strings, numbers or binaries.
	for _, lt := range []string{"n < :6", "n < ten", "s < t", "s < :abd", "b < :bin9", ":bin0 < b", "blank < s", "n <= :5", "n >= :5", "n > :4", "ten > n", "t > s", "s >= :abc", "b >= :bin0"} {
		holds(lt)
	}
	for _, lt := range []string{"n < :5", "ten < n", "n < s", "s > n", "n <= :4", "n < :abc", "n > :abc", "nix < :5", "nix >= :5", "n > nix", "yes < n", "yes >= yes2", "l < ltwin", "ss <= ss2",
		"nil >= nix", "b < s", "b > s"} {
		fails(lt)
	}
	for _, b := range []string{"n BETWEEN :5 AND :5", "n BETWEEN :1 AND ten", "s BETWEEN :ab AND t", "b BETWEEN :bin0 AND :bin9", ":5 BETWEEN :1 AND n", "n BETWEEN m.k AND l[1]"} {
		holds(b)
	}
	for _, b := range []string{"n BETWEEN :6 AND ten", "n BETWEEN :1 AND :4", "n BETWEEN :ab AND :abc", "nix BETWEEN :1 AND :5", "n BETWEEN nix AND ten", "n BETWEEN :1 AND nix", "n BETWEEN ten AND :1",
		"n BETWEEN s AND ten", "yes BETWEEN :1 AND :5"} {
		fails(b)
	}
	for _, in := range []string{"n IN (:5)", "n IN (:abc, nix, same)", "l IN (s, ltwin)", "ss IN (:ssa, :ss)", "nil IN (:nil)"} {
		holds(in)
	}
	for _, in := range []string{"n IN (:6)", "n IN (:s5, :abc)", "nix IN (:5, gone)", "n IN (nix)"} {
		fails(in)
	}
	for _, ex := range []string{"attribute_exists(n)", "attribute_exists(nil)", "attribute_exists(m.k)", "attribute_exists(l[2][0])", "attribute_not_exists(nix)", "attribute_not_exists(m.n)",
		"attribute_not_exists(l[4])", "attribute_not_exists(l[0].x)", "attribute_not_exists(nix.x.y[3])", "attribute_not_exists(m[0])"} {
		holds(ex)
	}
	for _, ex := range []string{"attribute_exists(nix)", "attribute_exists(m.m)", "attribute_exists(l[17])", "attribute_exists(n[0])", "attribute_not_exists(blank)", "attribute_not_exists(m.l)"} {
		fails(ex)
	}
	for name, typ := range map[string]string{"s": "S", "n": "N", "b": "B", "ss": "SS", "ns": "NS", "bs": "BS", "l": "L", "m": "M", "yes": "BOOL", "nil": "NULL"} {
		holds("attribute_type(" + name + ", :" + typ + ")")
		for _, other := range []string{"S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL"} {
			if other != typ {
				fails("attribute_type(" + name + ", :" + other + ")")
			}
		}
	}
	fails("attribute_type(nix, :S)")
	holds("attribute_type(:5, :N)")
	holds("attribute_type(size(s), :N)")
	holds("attribute_type(m.l, :L)")

	for _, bw := range []string{"begins_with(s, :ab)", "begins_with(s, :abc)", "begins_with(s, blank)", "begins_with(s, :none)", "begins_with(:abc, s)", "begins_with(b, :bin0)", "begins_with(b, :bin)", "begins_with(l[0], :ab)"} {
		holds(bw)
	}
	for _, bw := range []string{"begins_with(s, :b)", "begins_with(s, :abd)", "begins_with(:ab, s)", "begins_with(b, :bin9)", "begins_with(s, b)", "begins_with(n, :ab)", "begins_with(s, n)", "begins_with(nix, :ab)",
		"begins_with(s, nix)", "begins_with(l, :ab)"} {
		fails(bw)
	}
	for _, c := range []string{"contains(s, :b)", "contains(s, :bc)", "contains(s, :none)", "contains(:abc, s)", "contains(b, :bin0)", "contains(b, :bin1)", "contains(ss, :b)", "contains(ns, :5e0)", "contains(bs, :bin1)",
		"contains(l, :abc)", "contains(l, :5e0)", "contains(l, :l1)", "contains(l, :m1)", "contains(:ss, :b)", "contains(l, s)", "contains(ns, size(l[2]))"} {
		holds(c)
	}
	for _, c := range []string{"contains(s, :abd)", "contains(s, n)", "contains(n, :5)", "contains(b, :bin9)", "contains(b, s)", "contains(ss, :bc)", "contains(ss, :ssa)", "contains(ns, :s5)", "contains(ns, :6)", "contains(bs, :b)",
		"contains(l, :x)", "contains(l, :1)", "contains(m, :5)", "contains(m, :x)", "contains(nix, :b)", "contains(s, nix)", "contains(yes, :yes)", "contains(nil, :nil)"} {
		fails(c)
	}
	for _, s := range []string{"size(s) = :3", "size(blank) = :0", "size(wide) = :4", "size(b) = :3", "size(ss) = :2", "size(ns) = :2", "size(bs) = :2", "size(l) = :4", "size(m) = :3", "size(:abc) = size(s)", "size(l[2]) = :1",
		"size(m.l) = :0", "size(s) < n", "size(s) BETWEEN :1 AND :5", "size(s) IN (:5, :3)"} {
		holds(s)
	}
	for _, s := range []string{"size(n) = :1", "size(n) < :5", "size(yes) >= :0", "size(nil) <= :5", "size(nix) = :0", "size(nix) >= :0", "size(s) < :s5", "size(l[9]) < :5"} {
		fails(s)
	}
	f("n = :5 AND s = :abc AND NOT nix = :5", true)
	f("n = :6 OR s = :abc AND t = :abc", false)
	f("(n = :6 OR s = :abc) AND t = :abd", true)
	f("NOT (n = :5 AND s = :abd)", true)
	f("NOT n = :6 AND NOT nix > :5", true)
	f("n = :6 OR nix = :5 OR attribute_exists(s)", true)
}

func TestMatchNoItem(t *testing.T) {
	v := values(t, `{":5":{"N":"5"}}`)
	f := func(text string, want bool) {
		t.Helper()
		c, err := ParseCondition("Condition", []byte(text), nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Match(nil); got != want {
			t.Errorf("%s is %v without an item", text, got)
		}
	}
	f("attribute_not_exists(a)", true)
	f("attribute_not_exists(a.b[1])", true)
	f("attribute_exists(a)", false)
	f("a = :5", false)
	f("a <> :5", true)
	f("NOT a = :5", true)
	f("size(a) = :5", false)
	f("contains(a, :5)", false)
	f(":5 = :5", true)
	f("a IN (b, :5)", false)
}
