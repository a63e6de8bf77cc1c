package anonymise

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

func environment(name string) (string, bool) {
	v, ok := map[string]string{"SECRET": "0123456789abcdef", "OTHER": "fedcba9876543210", "SHORT": "abc"}[name]
	return v, ok
}

// plan returns the plan of a file with some rules for the table users, whose key is id.
func plan(t testing.TB, secret, rules string) *Plan {
	t.Helper()
	r, err := Parse("rules.yaml", []byte("secret_env: "+secret+"\nrules:\n"+rules), environment)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Table("users", []string{"id"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseItem([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestApply(t *testing.T) {
	f := func(rules, item, want string) {
		t.Helper()
		v := parse(t, item)
		got := plan(t, "SECRET", rules).Apply(v)
		if text := string(got.AppendItem(nil)); text != want {
			t.Fatalf("%s of %s:\ngot  %s\nwant %s", rules, item, text, want)
		}
		if text := string(v.AppendItem(nil)); text != item {
			t.Fatalf("%s changed the original, to %s", rules, text)
		}
	}
	f("- {path: a, action: remove}", `{"id":{"S":"1"},"a":{"S":"x"}}`, `{"id":{"S":"1"}}`)
	f("- {path: a.b, action: remove}", `{"a":{"M":{"b":{"S":"x"},"c":{"S":"y"}}}}`, `{"a":{"M":{"c":{"S":"y"}}}}`)
	f("- {path: a.b, action: remove}", `{"a":{"S":"x"}}`, `{"a":{"S":"x"}}`)
	f("- {path: 'l[*].p', action: constant, value: z}", `{"l":{"L":[{"M":{"p":{"S":"x"}}},{"S":"y"},{"M":{"p":{"BOOL":true}}}]}}`,
		`{"l":{"L":[{"M":{"p":{"S":"z"}}},{"S":"y"},{"M":{"p":{"S":"z"}}}]}}`)
	f("- {path: 'l[*][*]', action: remove}", `{"l":{"L":[{"L":[{"S":"x"}]},{"SS":["y"]}]}}`, `{"l":{"L":[{"L":[]}]}}`)
	f(`- {path: '"a.b".c', action: constant, value: "7"}`, `{"a.b":{"M":{"c":{"N":"5"}}}}`, `{"a.b":{"M":{"c":{"N":"7"}}}}`)
	f("- {path: a, action: constant, value: x}", `{"a":{"N":"5"}}`, `{"a":{"S":"x"}}`)
	f("- {path: 'a[*]', action: constant, value: x}", `{"a":{"SS":["1","2"]},"b":{"S":"y"}}`, `{"a":{"SS":["x"]},"b":{"S":"y"}}`)
	f("- {path: 'a[*]', action: constant, value: x}", `{"a":{"NS":["1","2"]},"b":{"S":"y"}}`, `{"b":{"S":"y"}}`)
	f("- {path: a, action: mask}", `{"a":{"S":"4111111111111234"}}`, `{"a":{"S":"************1234"}}`)
	f("- {path: a, action: mask, keep: 0}", `{"a":{"S":"äöü"}}`, `{"a":{"S":"***"}}`)
	f("- {path: a, action: mask}", `{"a":{"S":"abcd"}}`, `{"a":{"S":"****"}}`)
	f("- {path: a, action: mask, keep: 2}", `{"a":{"N":"-123.45"}}`, `{"a":{"N":"-0.45"}}`)
	f("- {path: a, action: mask}", `{"a":{"N":"123"}}`, `{"a":{"N":"0"}}`)
	f("- {path: a, action: mask, keep: 1}", `{"a":{"B":"AQID"}}`, `{"a":{"B":"AAAD"}}`)
	f("- {path: a, action: mask}", `{"a":{"M":{"b":{"BOOL":true},"c":{"NULL":true},"d":{"S":"12345"}}}}`,
		`{"a":{"M":{"b":{"BOOL":true},"c":{"NULL":true},"d":{"S":"*2345"}}}}`)
	f("- {tables: 'user*', path: a, action: remove}", `{"a":{"S":"x"}}`, `{}`)
	f("- {tables: [orders, 'order?'], path: a, action: remove}", `{"a":{"S":"x"}}`, `{"a":{"S":"x"}}`)
	f("- {path: a, action: mask, keep: 1}\n- {path: a, action: mask, keep: 3}", `{"a":{"S":"abcdef"}}`, `{"a":{"S":"*****f"}}`)
}

// The codes are part of the contract: they may not change between versions, because data sets
// of different days are joined.
func TestHash(t *testing.T) {
	p := plan(t, "SECRET", "- {path: id, action: hash}\n- {path: a, action: hash}")
	f := func(item, want string) {
		t.Helper()
		v := p.Apply(parse(t, item))
		if got := string(v.AppendItem(nil)); got != want {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
	f(`{"id":{"S":"alice"},"a":{"S":"alice"}}`, `{"id":{"S":"1c65c60b9b2c5c12d3635a7ef8d8949f"},"a":{"S":"1c65c60b9b2c5c12d3635a7ef8d8949f"}}`)
	f(`{"a":{"N":"42"}}`, `{"a":{"N":"741869350272592"}}`)
	f(`{"a":{"N":"-42"}}`, `{"a":{"N":"-673953366189527"}}`)
	f(`{"a":{"N":"1.5"}}`, `{"a":{"N":"40138546491727890780318160642580579770"}}`)
	f(`{"a":{"B":"AQID"}}`, `{"a":{"B":"2REe3pouxtruKQlO+KVwCg=="}}`)
	f(`{"a":{"SS":["alice","bob"]}}`, `{"a":{"SS":["1c65c60b9b2c5c12d3635a7ef8d8949f","94a34715ab993d4bfebe6f8a8dcaf30b"]}}`)
}

func TestFake(t *testing.T) {
	f := func(as, value, want string) {
		t.Helper()
		v := plan(t, "SECRET", "- {path: a, action: fake, as: "+as+"}").Apply(parse(t, `{"a":`+value+`}`))
		if got := string(v.Get("a").Append(nil)); got != want {
			t.Errorf("%s of %s: got %s, want %s", as, value, got, want)
		}
	}
	f("name", `{"S":"x"}`, `{"S":"Olga Quist"}`)
	f("first_name", `{"S":"x"}`, `{"S":"Mara"}`)
	f("last_name", `{"S":"x"}`, `{"S":"Jansen"}`)
	f("email", `{"S":"x"}`, `{"S":"luca.6896a0ae7489055565fb2843c398ba9b@example.com"}`)
	f("phone", `{"S":"x"}`, `{"S":"+999 6534154345"}`)
	f("phone", `{"N":"491701234567"}`, `{"N":"9992819368929"}`)
	f("address", `{"S":"x"}`, `{"S":"70 Elm Street, Thornby"}`)
	f("city", `{"S":"x"}`, `{"S":"Silverton"}`)
	f("company", `{"S":"x"}`, `{"S":"Lopez Works"}`)
	f("ip", `{"S":"x"}`, `{"S":"198.19.86.67"}`)
	f("uuid", `{"S":"x"}`, `{"S":"52702bb4-7d68-4f59-8807-f00163d4ff99"}`)
	f("date", `{"S":"x"}`, `{"S":"1956-08-07"}`)
	f("date", `{"S":"2026-03-01T10:00:00Z"}`, `{"S":"1956-07-16T10:47:19Z"}`)
	f("date", `{"N":"1700000000"}`, `{"N":"1399564141"}`)
	f("date", `{"N":"1700000000000"}`, `{"N":"1047386000000"}`)
	f("email", `{"N":"5"}`, `{"N":"979682188804626"}`)
	f("email", `{"BOOL":true}`, `{"BOOL":true}`)
}

// Different numbers keep being different, and keep their sign.
func TestPermutationIsUnique(t *testing.T) {
	k := newKeyed("0123456789abcdef")
	seen := map[string]int{}
	for n := -3000; n < 3000; n++ {
		v, _ := numberOf(strconv.Itoa(n))
		h := k.hash(v)
		if other, ok := seen[string(h.Text)]; ok {
			t.Fatalf("%d and %d have the same hash %s", n, other, h.Text)
		}
		if (n < 0) != (h.Text[0] == '-') {
			t.Fatalf("%d has the hash %s", n, h.Text)
		}
		seen[string(h.Text)] = n
	}
}

// A hash depends on nothing but the value and the secret, keeps the type, and is stored as it is.
func TestHashKeepsTypes(t *testing.T) {
	one := plan(t, "SECRET", "- {path: a, action: hash}")
	other := plan(t, "OTHER", "- {path: a, action: hash}")
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(
			rapid.Map(rapid.StringMatching(`-?[0-9]{1,18}(\.[0-9]{1,18})?`), func(s string) string { return `{"N":"` + s + `"}` }),
			rapid.Map(rapid.StringMatching(`[a-z ]{0,20}`), func(s string) string { return `{"S":"` + s + `"}` }),
		).Draw(r, "value")
		item := parse(t, `{"a":`+text+`}`)
		a, b, c := one.Apply(item), one.Apply(item), other.Apply(item)
		if !a.Equal(&b) {
			r.Fatalf("%s has two hashes", text)
		}
		if a.Equal(&c) || a.Equal(&item) {
			r.Fatalf("%s is hashed as %s, with another secret as %s", text, a.AppendItem(nil), c.AppendItem(nil))
		}
		if a.Get("a").Type != item.Get("a").Type {
			r.Fatalf("%s is hashed as %s", text, a.AppendItem(nil))
		}
		if back := parse(t, string(a.AppendItem(nil))); !back.Equal(&a) {
			r.Fatalf("%s is read back as %s", a.AppendItem(nil), back.AppendItem(nil))
		}
	})
}

func TestMistakes(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r, err := Parse("r.yaml", []byte(text), environment)
		if err == nil {
			_, err = r.Table("users", []string{"id", "at"})
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	f("rules:\n  - {path: a, action: hash}", "r.yaml:1:1: rules: hash and fake need a secret: give secret_env or secret_file")
	f("secret_env: SHORT\nrules: [{path: a, action: hash}]", "r.yaml:1:1: secret_env: the secret has 3 bytes; at least 16 are needed")
	f("rules: [{path: a, action: msak}]",
		`r.yaml:1:27: rules[0].action: "msak" is not allowed (did you mean "mask"?); allowed: hash, mask, fake, remove, constant`)
	f("rules: [{path: a, action: mask, kepe: 1}]",
		`r.yaml:1:33: rules[0]: unknown key "kepe" (did you mean "keep"?); allowed here: tables, path, action, as, keep, value`)
	f("secret_env: SECRET\nrules: [{path: a, action: fake, as: emial}]",
		`r.yaml:2:37: rules[0].as: "emial" is not allowed (did you mean "email"?); allowed: name, first_name, last_name, email, phone, address, city, company, date, ip, uuid`)
	f("rules: [{path: a, action: mask, value: x}]", "r.yaml:1:33: rules[0].value: belongs to the action constant, and this one is mask")
	f("rules: [{path: a, action: constant}]", `r.yaml:1:9: rules[0]: lacks "value": the action constant needs it`)
	f("rules: [{path: 'a..b', action: remove}]", `r.yaml:1:10: rules[0].path: "a..b" is no path: a name is missing`)
	f("rules: [{path: 'a[0]', action: remove}]",
		`r.yaml:1:10: rules[0].path: "a[0]" is no path: after a name there is a dot, [*] or the end; names with other characters are in double quotes`)
	f("rules: [{path: id, action: mask}]",
		"r.yaml:1:20: rules[0].action: id is a key attribute of the table users, and mask would make different items one; allowed: hash, or fake as uuid")
	f("secret_env: SECRET\nrules:\n  - {path: id, action: fake, as: uuid}\n  - {path: at, action: fake, as: date}",
		"r.yaml:4:16: rules[1].action: at is a key attribute of the table users, and fake would make different items one; allowed: hash, or fake as uuid")
}
