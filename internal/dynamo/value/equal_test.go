package value

import (
	"strings"
	"testing"
)

func TestEqual(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		v, w := mustParse(t, a), mustParse(t, b)
		if v.Equal(&w) != want || w.Equal(&v) != want || !v.Equal(&v) || !w.Equal(&w) {
			t.Errorf("%s and %s: got equal %v, in reverse %v", a, b, v.Equal(&w), w.Equal(&v))
		}
	}
	f(`{"S":"a"}`, `{"S":"a"}`, true)
	f(`{"S":"a"}`, `{"S":"A"}`, false)
	f(`{"S":"1"}`, `{"N":"1"}`, false)
	f(`{"S":"MQ=="}`, `{"B":"MQ=="}`, false)
	f(`{"N":"1000"}`, `{"N":"1e3"}`, true)
	f(`{"N":"1"}`, `{"N":"1.1"}`, false)
	f(`{"BOOL":true}`, `{"BOOL":false}`, false)
	f(`{"NULL":true}`, `{"NULL":true}`, true)
	f(`{"NULL":true}`, `{"BOOL":true}`, false)
	f(`{"SS":["a","b"]}`, `{"SS":["b","a"]}`, true)
	f(`{"SS":["a","b"]}`, `{"SS":["b","c"]}`, false)
	f(`{"SS":["a"]}`, `{"SS":["b","a"]}`, false)
	f(`{"SS":["1"]}`, `{"NS":["1"]}`, false)
	f(`{"NS":["1","2"]}`, `{"NS":["2.0","1"]}`, true)
	f(`{"BS":["AA==",""]}`, `{"BS":["","AA=="]}`, true)
	f(`{"L":[{"S":"a"},{"S":"b"}]}`, `{"L":[{"S":"b"},{"S":"a"}]}`, false)
	f(`{"L":[{"S":"a"},{"SS":["a","b"]}]}`, `{"L":[{"S":"a"},{"SS":["b","a"]}]}`, true)
	f(`{"L":[{"S":"a"}]}`, `{"L":[]}`, false)
	f(`{"M":{"a":{"S":"x"},"b":{"N":"1"}}}`, `{"M":{"b":{"N":"1.0"},"a":{"S":"x"}}}`, true)
	f(`{"M":{"a":{"S":"x"}}}`, `{"M":{"b":{"S":"x"}}}`, false)
	f(`{"M":{"a":{"S":"x"}}}`, `{"M":{}}`, false)
	f(`{"M":{}}`, `{"L":[]}`, false)

	large := make([]string, 30)
	for i := range large {
		large[i] = itoa(i)
	}
	set := func(members []string) string { return `{"NS":["` + strings.Join(members, `","`) + `"]}` }
	turned := append(append([]string{}, large[11:]...), large[:11]...)
	other := append(append([]string{}, large[1:]...), "30")
	f(set(large), set(turned), true)
	f(set(large), set(other), false)
	object := func(names []string) string {
		return `{"M":{"` + strings.Join(names, `":{"S":"x"},"`) + `":{"S":"y"}}}`
	}
	f(object(large), object(append(turned[:19:19], append(turned[20:], turned[19])...)), false)
	f(`{"M":`+manyMembers(30)+`}`, `{"M":`+manyMembers(30)+`}`, true)
	f(`{"M":`+manyMembers(30)+`}`, `{"M":`+strings.Replace(manyMembers(30), `a7"`, `b7"`, 1)+`}`, false)
	f(`{"M":`+manyMembers(30)+`}`, `{"M":`+strings.Replace(manyMembers(30), `"x"`, `"y"`, 1)+`}`, false)
}
