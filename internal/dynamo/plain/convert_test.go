package plain

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func typedOf(lists bool, text string) string {
	c := converter{lists: lists}
	out, next := c.typed(nil, []byte(text), 0)
	if next != len(text) {
		return "ends at the wrong place"
	}
	return string(out)
}

func plainOf(text string) string {
	c := converter{}
	out, next := c.plain(nil, []byte(text), 0)
	if next < 0 {
		return "refused"
	}
	if next != len(text) {
		return "ends at the wrong place"
	}
	return string(out)
}

func TestTyped(t *testing.T) {
	f := func(plain, want string) {
		t.Helper()
		if got := typedOf(false, plain); got != want {
			t.Errorf("%s\n got %s\nwant %s", plain, got, want)
		}
	}
	f(`true`, `{"BOOL":true}`)
	f(`false`, `{"BOOL":false}`)
	f(`null`, `{"NULL":true}`)
	f(`"x"`, `{"S":"x"}`)
	f(`""`, `{"S":""}`)
	f(`"a\"\u0041\\"`, `{"S":"a\"\u0041\\"}`)
	f(`{}`, `{"M":{}}`)
	f(`[]`, `{"L":[]}`)
	f(`{"S":"x"}`, `{"M":{"S":{"S":"x"}}}`) // looks like a typed value, but is a plain one
	f(`{"a":{"b":[null]}}`, `{"M":{"a":{"M":{"b":{"L":[{"NULL":true}]}}}}}`)
	f("{\n\"a\" : 1 ,\t\"b\" : [ 1 , 2 ] }", `{"M":{"a":{"N":"1"},"b":{"NS":["1","2"]}}}`)
	// Numbers keep every digit.
	f(`0`, `{"N":"0"}`)
	f(`-7234234234.234234`, `{"N":"-7234234234.234234"}`)
	f(`9007199254740993`, `{"N":"9007199254740993"}`)
	f(`0.1234567890123456789`, `{"N":"0.1234567890123456789"}`)
	f(`99999999999999999999999999999999999999`, `{"N":"99999999999999999999999999999999999999"}`)
	f(`1e125`, `{"N":"1e125"}`)
	f(`1E-130`, `{"N":"1E-130"}`)
	f(`1e999`, `{"N":"1e999"}`) // left for the service to reject
	// Arrays of scalars of one type are sets. Of equal members the first is kept, in its place.
	f(`[1]`, `{"NS":["1"]}`)
	f(`[7,7,1,2,3,9,-7234234234.234234]`, `{"NS":["7","1","2","3","9","-7234234234.234234"]}`)
	f(`[1,1.0,10e-1,1e0,2]`, `{"NS":["1","2"]}`)
	f(`[1e999,1e999,2]`, `{"NS":["1e999","2"]}`)
	f(`["b","a","b","\u0061",""]`, `{"SS":["b","a",""]}`)
	f(`["\ud800","\ud801"]`, `{"SS":["\ud800","\ud801"]}`) // not valid text, so not compared
	// All other arrays are lists.
	f(`[1,"a"]`, `{"L":[{"N":"1"},{"S":"a"}]}`)
	f(`["a",1]`, `{"L":[{"S":"a"},{"N":"1"}]}`)
	f(`[1,null]`, `{"L":[{"N":"1"},{"NULL":true}]}`)
	f(`[true,true]`, `{"L":[{"BOOL":true},{"BOOL":true}]}`)
	f(`[[1,1],["a"],[],{}]`, `{"L":[{"NS":["1"]},{"SS":["a"]},{"L":[]},{"M":{}}]}`)
	f(`[ ]`, `{"L":[]}`)
	f(`[{"a":[2,2]}]`, `{"L":[{"M":{"a":{"NS":["2"]}}}]}`)
}

func TestTypedLists(t *testing.T) {
	f := func(plain, want string) {
		t.Helper()
		if got := typedOf(true, plain); got != want {
			t.Errorf("%s\n got %s\nwant %s", plain, got, want)
		}
	}
	f(`[7,7,1]`, `{"L":[{"N":"7"},{"N":"7"},{"N":"1"}]}`)
	f(`["b","b"]`, `{"L":[{"S":"b"},{"S":"b"}]}`)
	f(`{"a":[[1]]}`, `{"M":{"a":{"L":[{"L":[{"N":"1"}]}]}}}`)
	f(`[]`, `{"L":[]}`)
}

// TestTypedLargeSets uses sets that are too large for comparisons of all pairs.
func TestTypedLargeSets(t *testing.T) {
	var numbers, want []string
	for i := range 5 * maxScannedMembers {
		text, _ := json.Marshal(i)
		numbers = append(numbers, string(text), string(text)+".0", string(text)+"e0")
		want = append(want, `"`+string(text)+`"`)
	}
	if got := typedOf(false, "["+strings.Join(numbers, ",")+"]"); got != `{"NS":[`+strings.Join(want, ",")+`]}` {
		t.Errorf("got %s", got)
	}
	if got := typedOf(false, "["+strings.Join(append(want, want...), ",")+"]"); got != `{"SS":[`+strings.Join(want, ",")+`]}` {
		t.Errorf("got %s", got)
	}
}

func TestPlain(t *testing.T) {
	f := func(typed, want string) {
		t.Helper()
		if got := plainOf(typed); got != want {
			t.Errorf("%s\n got %s\nwant %s", typed, got, want)
		}
	}
	f(`{"BOOL":true}`, `true`)
	f(`{"BOOL":false}`, `false`)
	f(`{"NULL":true}`, `null`)
	f(`{"S":"a\"\u0041é"}`, `"a\"\u0041é"`)
	f(`{"S":""}`, `""`)
	f(`{"B":"aGVsbG8="}`, `"aGVsbG8="`)
	f(`{"B":""}`, `""`)
	f(`{"L":[]}`, `[]`)
	f(`{"M":{}}`, `{}`)
	f(`{"M":{"S":{"S":"x"}}}`, `{"S":"x"}`)
	f(`{"L":[{"N":"4"},{"SS":["a","b","c"]}]}`, `[4,["a","b","c"]]`)
	f("{ \"M\" :\n{ \"a\" : { \"N\" : \"1\" } , \"b\":{\"L\":[ ]} } }", `{"a":1,"b":[]}`)
	// Numbers keep every digit, and are valid JSON.
	f(`{"N":"9007199254740993"}`, `9007199254740993`)
	f(`{"N":"0.1234567890123456789"}`, `0.1234567890123456789`)
	f(`{"N":"-7234234234.234234"}`, `-7234234234.234234`)
	f(`{"N":"99999999999999999999999999999999999999"}`, `99999999999999999999999999999999999999`)
	f(`{"N":"1e125"}`, `1e125`)
	f(`{"N":"007"}`, `7`)
	f(`{"N":"+1"}`, `1`)
	f(`{"N":".5"}`, `0.5`)
	f(`{"N":"5."}`, `5`)
	// Sets are sorted, whatever the origin's order.
	f(`{"NS":["10","9","-1","1.5","0.1234567890123456789"]}`, `[-1,0.1234567890123456789,1.5,9,10]`)
	f(`{"NS":["1e1","+2"]}`, `[2,1e1]`)
	f(`{"SS":["b","a","\u0061b",""]}`, `["","a","\u0061b","b"]`)
	f(`{"SS":["é","z"]}`, `["z","é"]`)
	f(`{"BS":["dGhlcmU=","aGVsbG8="]}`, `["aGVsbG8=","dGhlcmU="]`)
	f(`{"NS":[]}`, `[]`)
	// Replies that DynamoDB never sends.
	for _, bad := range []string{`1`, `"x"`, `null`, `[]`, `{}`, `{"S":1}`, `{"N":1}`, `{"N":"x"}`, `{"N":""}`, `{"N":"1 2"}`, `{"BOOL":"true"}`,
		`{"NULL":false}`, `{"SS":[1]}`, `{"NS":["x"]}`, `{"NS":{}}`, `{"L":{}}`, `{"L":[1]}`, `{"M":[]}`, `{"M":{"a":1}}`, `{"X":"x"}`, `{"S":"a","N":"1"}`, `{"B":1}`} {
		f(bad, `refused`)
	}
}

// TestTypedTooLarge checks that an oversized item is rejected without converting it completely.
func TestTypedTooLarge(t *testing.T) {
	c := converter{}
	for range 2 {
		if _, next := c.typed(make([]byte, maxBody+1), []byte(`{"a":1}`), 0); next >= 0 || !c.tooLarge {
			t.Error("the conversion continued after 16 MiB")
		}
	}
	var list []string
	for i := range maxMembers + 1000 {
		list = append(list, strconv.Itoa(i))
	}
	c.typedSet(nil, []byte("["+strings.Join(list, ",")+"]"), 0, true)
	if len(c.seen) != maxMembers {
		t.Errorf("memory for %d members is kept", len(c.seen))
	}
}

// TestTruncatedText checks that text truncated at any byte is refused.
func TestTruncatedText(t *testing.T) {
	typed := `{"M":{"a":{"NS":["1","2"]},"b":{"L":[{"S":"x\"y"},{"NULL":true}]},"c":{"SS":["q"]},"d":{"BOOL":true}}}`
	plain := `{"a":[1,2],"b":["x\"y",null],"c":["q"],"d":true,"e":{"f":[]}}`
	c := converter{}
	for i := range typed {
		if _, next := c.plain(nil, []byte(typed[:i]), 0); next >= 0 {
			t.Errorf("%s was accepted", typed[:i])
		}
	}
	for i := range plain {
		if _, next := c.typed(nil, []byte(plain[:i]), 0); next >= 0 {
			t.Errorf("%s was accepted", plain[:i])
		}
	}
}

// FuzzPlain converts plain JSON to typed JSON and back.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,1.0],"b":["x","y"],"c":null,"d":{"e":[]}}`, `[1,"a"]`, `-0`, `"\ud800"`, `[1e999]`, `["a","\u0061"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimSpace(text)
		if !wire.Valid([]byte(text), wire.MaxDepth) {
			return
		}
		for _, lists := range []bool{false, true} {
			typed := typedOf(lists, text)
			if !wire.Valid([]byte(typed), 2*wire.MaxDepth+2) {
				t.Fatalf("%s was converted to %s", text, typed)
			}
			if !acceptable(typed) {
				continue
			}
			back := plainOf(typed)
			if !wire.Valid([]byte(back), wire.MaxDepth) {
				t.Fatalf("%s was converted back to %s", typed, back)
			}
			if again := typedOf(lists, back); canonical(t, again) != canonical(t, typed) {
				t.Fatalf("%s\nwas converted to %s\nthen to %s\nthen to %s", text, typed, back, again)
			}
		}
	})
}

// acceptable reports whether DynamoDB's numbers can represent all numbers of a value.
func acceptable(typed string) bool {
	_, err := value.Parse([]byte(typed))
	return err == nil
}

// canonical returns the same text for values that DynamoDB considers equal.
func canonical(t testing.TB, typed string) string {
	t.Helper()
	v, err := value.Parse([]byte(typed))
	if err != nil {
		t.Fatalf("%s: %v", typed, err)
	}
	sortSets(&v)
	return string(v.Append(nil))
}

func sortSets(v *value.Value) {
	switch v.Type {
	case value.StringSet, value.NumberSet, value.BinarySet:
		for i := range v.Items {
			for j := i; j > 0; j-- {
				if order, _ := value.Compare(&v.Items[j-1], &v.Items[j]); order > 0 {
					v.Items[j-1], v.Items[j] = v.Items[j], v.Items[j-1]
				}
			}
		}
	case value.List:
		for i := range v.Items {
			sortSets(&v.Items[i])
		}
	case value.Map:
		for i := range v.Members {
			sortSets(&v.Members[i].Value)
		}
	}
}

// TestNumbersAreExact checks that all numbers of DynamoDB keep their digits in both directions.
func TestNumbersAreExact(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		digits := make([]byte, 1+dice.IntN(38))
		for i := range digits {
			digits[i] = byte('0' + dice.IntN(10))
		}
		digits[0] = byte('1' + dice.IntN(9))
		text := string(digits)
		if point := dice.IntN(len(text)); point > 0 {
			text = text[:point] + "." + text[point:]
		}
		if dice.IntN(2) == 0 {
			text = "-" + text
		}
		stored, ok := wire.AppendNumber(nil, []byte(text))
		if !ok {
			t.Fatalf("%s isn't a number", text)
		}
		plain := plainOf(`{"N":"` + string(stored) + `"}`)
		if plain != string(stored) {
			t.Errorf("%s was converted to plain %s", stored, plain)
		}
		if in := typedOf(false, plain); in != `{"N":"`+string(stored)+`"}` {
			t.Errorf("%s was converted to typed %s", plain, in)
		}
	}
}

// FuzzStored converts items to plain JSON, which must have the same numbers.
func FuzzStored(f *testing.F) {
	for _, s := range []string{`{"M":{"a":{"NS":["1","2"]},"b":{"L":[{"S":"x"},{"NULL":true}]},"c":{"B":"aGVsbG8="},"d":{"BS":["","YQ=="]}}}`,
		`{"SS":["a","\u0061b"]}`, `{"N":"1e125"}`, `{"L":[{"BOOL":false}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := value.Parse([]byte(text))
		if err != nil {
			return
		}
		stored := string(v.Append(nil))
		plain := plainOf(stored)
		if !wire.Valid([]byte(plain), wire.MaxDepth) {
			t.Fatalf("%s was converted to %s", stored, plain)
		}
		if got, want := numbersIn(plain), storedNumbers(nil, &v); !slices.Equal(got, want) {
			t.Fatalf("%s\nwas converted to %s\nwith the numbers %s, want %s", stored, plain, got, want)
		}
	})
}

// numbersIn returns the numbers of a JSON text, sorted.
func numbersIn(text string) (list []string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			slices.Sort(list)
			return list
		}
		if n, ok := token.(json.Number); ok {
			list = append(list, n.String())
		}
	}
}

// storedNumbers appends the numbers in a value.
func storedNumbers(list []string, v *value.Value) []string {
	if v.Type == value.Number {
		list = append(list, string(v.Text))
	}
	for i := range v.Items {
		list = storedNumbers(list, &v.Items[i])
	}
	for i := range v.Members {
		list = storedNumbers(list, &v.Members[i].Value)
	}
	slices.Sort(list)
	return list
}
