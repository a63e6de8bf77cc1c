package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// sample is the view in testdata/view.json. It sets every field.
func sample() protocol.View {
	const a, b = 0xab, 0xfedcba9876543210
	return protocol.View{
		Rev: math.MaxUint64, Creator: a, Epoch: 7, Clean: true,
		Members: []protocol.Member{
			{
				Instance: a, Node: "a", Address: "10.0.0.1:7946", Zone: "eu-central-1a",
				Joined:   time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC).UnixMilli(),
				DAX:      map[string][]string{"orders": {"10.0.0.1:8111", "a.example:8111"}, "none": {}},
				Services: map[string]string{"orders": "dynamodb 5f1c", "web": "http 99e0"},
			},
			{Instance: b, Node: "b", Address: "[::1]:1", Joining: true},
		},
		Suspended: []protocol.Suspension{{By: a, Of: b}},
		Away: []protocol.Away{
			{Node: "c", Since: time.Date(2026, 11, 24, 20, 56, 46, 7e6, time.UTC).UnixMilli(), Reason: "did not answer b"},
			{Node: "d"},
		},
	}
}

// golden returns a file in testdata without its white space.
func golden(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mustEncode returns a view as JSON.
func mustEncode(t testing.TB, v protocol.View) string {
	t.Helper()
	encoded, err := encode("production", "W", &v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSampleSetsAllFields checks that TestItem compares all fields of a view.
func TestSampleSetsAllFields(t *testing.T) {
	v := sample()
	for _, x := range []any{v, v.Suspended[0], v.Away[0]} {
		expectFields(t, reflect.ValueOf(x))
	}
	both := v.Members[0]
	both.Joining = v.Members[1].Joining
	expectFields(t, reflect.ValueOf(both))
}

func expectFields(t *testing.T, x reflect.Value) {
	t.Helper()
	for i := range x.NumField() {
		if x.Field(i).IsZero() {
			t.Errorf("%s.%s is not in the sample", x.Type(), x.Type().Field(i).Name)
		}
	}
}

func TestItem(t *testing.T) {
	want := golden(t, "view.json")
	if got := mustEncode(t, sample()); got != want {
		t.Errorf("encoded:\ngot  %s\nwant %s", got, want)
	}
	got, write, err := decode("production", json.RawMessage(want))
	if err != nil || write != "W" || !reflect.DeepEqual(got, sample()) {
		t.Errorf("decoded:\ngot  %+v, %q, %v\nwant %+v", got, write, err, sample())
	}
}

func TestItemOfEmptyView(t *testing.T) {
	v := protocol.View{Rev: 1}
	want := `{"away":{"L":[]},"cluster":{"S":"production"},"creator":{"S":"0000000000000000"},"epoch":{"N":"0"},"format":{"N":"1"},"members":{"L":[]},"rev":{"N":"1"},"suspended":{"L":[]},"write":{"S":"W"}}`
	got := mustEncode(t, v)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if back, _, err := decode("production", json.RawMessage(got)); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("got %+v, %v", back, err)
	}
}

// TestMarshal checks that a store without tables keeps the same item, except for the text of
// the write.
func TestMarshal(t *testing.T) {
	v := sample()
	data, err := Marshal("production", &v)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(golden(t, "view.json"), `,"write":{"S":"W"}`, "", 1); string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if back, err := Unmarshal("production", data); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("got %+v, %v", back, err)
	}
	if _, err := Unmarshal("test", data); err == nil {
		t.Error("the item of another cluster was accepted")
	}
	if _, err := Marshal("production", &protocol.View{}); err == nil {
		t.Error("a view without a revision was accepted")
	}
}

// TestDecodeIgnores checks what an item may contain besides the attributes that are written.
func TestDecodeIgnores(t *testing.T) {
	for _, add := range []string{
		`"note":{"S":"on call: Ada"}`,
		`"note":{"B":"AAAA"}`,
		`"note":{"NULL":true}`,
		`"note":{"SS":["a"]}`,
		`"note":17`,
		`"Rev":{"N":"3"}`,
	} {
		text := `{` + add + `,` + golden(t, "view.json")[1:]
		text = strings.Replace(text, `{"M":{"address"`, `{"M":{`+add+`,"address"`, 1)
		got, _, err := decode("production", json.RawMessage(text))
		if err != nil || !reflect.DeepEqual(got, sample()) {
			t.Errorf("%s: got %+v, %v", add, got, err)
		}
	}
	least := `{"cluster":{"S":"production"},"format":{"N":"1"},"rev":{"N":"1"},"creator":{"S":"0000000000000000"},"epoch":{"N":"0"},"members":{"L":[]}}`
	if v, _, err := decode("production", json.RawMessage(least)); err != nil || !reflect.DeepEqual(v, protocol.View{Rev: 1}) {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	whole := golden(t, "view.json")
	replace := func(old, with, want string) {
		t.Helper()
		if !strings.Contains(whole, old) {
			t.Fatalf("the item does not contain %s", old)
		}
		v, write, err := decode("production", json.RawMessage(strings.Replace(whole, old, with, 1)))
		if err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(v, protocol.View{}) || write != "" {
			t.Errorf("%s instead of %s: got %+v, %v; want the error %s", with, old, v, err, want)
		}
	}
	replace(`"format":{"N":"1"}`, `"format":{"N":"2"}`, "it has format 2, which a newer version of Kasoku wrote; this version reads format 1: upgrade this node")
	replace(`"format":{"N":"1"}`, `"format":{"N":"0"}`, "its format is 0")
	replace(`"format"`, `"Format"`, "format is missing")
	replace(`"cluster":{"S":"production"}`, `"cluster":{"S":"test"}`, `it belongs to the cluster "test"`)
	replace(`"cluster":`, `"name":`, "cluster is missing")
	replace(`"rev":`, `"ref":`, "rev is missing")
	replace(`"epoch":`, `"time":`, "epoch is missing")
	replace(`"members":`, `"people":`, "members is missing")
	replace(`18446744073709551615`, `18446744073709551616`, `rev is "18446744073709551616" instead of a number`)
	replace(`18446744073709551615`, `-1`, `rev is "-1" instead of a number`)
	replace(`18446744073709551615`, `1.5`, `rev is "1.5" instead of a number`)
	replace(`18446744073709551615`, `0`, "its revision is 0")
	replace(`{"N":"18446744073709551615"}`, `{"N":7}`, "rev is not a value of type N")
	replace(`{"N":"18446744073709551615"}`, `{"N":null}`, "rev is not a value of type N")
	replace(`{"N":"18446744073709551615"}`, `{"S":"7"}`, "rev has the type S instead of N")
	replace(`{"N":"18446744073709551615"}`, `{"NS":["7"]}`, "rev has the type NS instead of N")
	replace(`{"N":"18446744073709551615"}`, `{"n":"7"}`, "rev has the type n instead of N")
	replace(`{"N":"18446744073709551615"}`, `{"N":"7","S":"7"}`, "rev is not an attribute value")
	replace(`{"N":"18446744073709551615"}`, `null`, "rev is not an attribute value")
	replace(`{"N":"7"}`, `[]`, "epoch is not an attribute value")
	replace(`"joining":{"BOOL":true}`, `"joining":{"S":"true"}`, "members[1].joining has the type S instead of BOOL")
	replace(`"joining":{"BOOL":true}`, `"joining":{"BOOL":null}`, "members[1].joining is not a value of type BOOL")
	replace(`"fedcba9876543210"`, `"fedcba987654321"`, `members[1].instance is "fedcba987654321" instead of 16 hexadecimal digits`)
	replace(`"fedcba9876543210"`, `"fedcba98_6543210"`, `members[1].instance is "fedcba98_6543210" instead of 16`)
	replace(`"fedcba9876543210"`, `"00000000000000ab"`, "instance 00000000000000ab is in it twice")
	replace(`"of":{"S":"fedcba9876543210"}`, `"of":{"S":""}`, `suspended[0].of is "" instead of 16`)
	replace(`{"S":"2026-11-24T09:00:00.000Z"}`, `{"S":"yesterday"}`, `members[0].joined is "yesterday" instead of a time`)
	replace(`2026-11-24T09:00:00.000Z`, `1969-12-31T23:59:59.999Z`, "a time in it is not between 1970 and 9999")
	replace(`2026-11-24T20:56:46.007Z`, `9999-12-31T23:59:59-01:00`, "a time in it is not between 1970 and 9999")
	replace(`"node":{"S":"d"}`, `"name":{"S":"d"}`, "away[1].node is missing")
	replace(`{"M":{"node":{"S":"d"}}}`, `{"L":[]}`, "away[1] has the type L instead of M")
	replace(`{"S":"10.0.0.1:8111"}`, `{"N":"1"}`, "members[0].dax.orders[0] has the type N instead of S")
	replace(`"none":{"L":[]}`, `"none":{"S":""}`, "members[0].dax.none has the type S instead of L")
	replace(`"web":{"S":"http 99e0"}`, `"web":{"BOOL":true}`, "members[0].services.web has the type BOOL instead of S")
	replace(`"suspended":{"L":[{"M":{"by":{"S":"00000000000000ab"},"of":{"S":"fedcba9876543210"}}}]}`, `"suspended":{"L":{}}`,
		"suspended is not a value of type L")
}

func TestDecodeRefusesOtherJSON(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `"item"`, `{`, `17`, `{}`} {
		if v, _, err := decode("production", json.RawMessage(text)); err == nil || !reflect.DeepEqual(v, protocol.View{}) {
			t.Errorf("%s: got %+v, %v", text, v, err)
		}
	}
}

func TestCheck(t *testing.T) {
	members := func(n int) (list []protocol.Member) {
		for i := range n {
			list = append(list, protocol.Member{Instance: protocol.Instance(i), Node: fmt.Sprint(i)})
		}
		return list
	}
	for _, c := range []struct {
		view protocol.View
		want string // empty for no error
	}{
		{protocol.View{Rev: 1, Members: members(maxMembers)}, ""},
		{protocol.View{Rev: 1, Members: members(maxMembers + 1)}, "it has 65 members, and the maximum is 64"},
		{protocol.View{Members: members(1)}, "its revision is 0"},
		{protocol.View{Rev: 1, Members: append(members(2), members(1)...)}, "instance 0000000000000000 is in it twice"},
		{protocol.View{Rev: 1, Away: []protocol.Away{{Node: "a\xff"}}}, "a text in it is not UTF-8"},
		{protocol.View{Rev: 1, Members: []protocol.Member{{DAX: map[string][]string{"s": {"\xff"}}}}}, "a text in it is not UTF-8"},
		{protocol.View{Rev: 1, Members: []protocol.Member{{Services: map[string]string{"s": "\xff"}}}}, "a text in it is not UTF-8"},
		{protocol.View{Rev: 1, Members: []protocol.Member{{Joined: -1}}}, "a time in it is not between 1970 and 9999"},
		{protocol.View{Rev: 1, Away: []protocol.Away{{Since: latest}}}, ""},
		{protocol.View{Rev: 1, Away: []protocol.Away{{Since: latest + 1}}}, "a time in it is not between 1970 and 9999"},
		{protocol.View{Rev: 1, Away: []protocol.Away{{Reason: strings.Repeat("x", maxSize-300)}}}, ""},
		{protocol.View{Rev: 1, Away: []protocol.Away{{Reason: strings.Repeat("x", maxSize)}}}, "it needs 350268 bytes, and the maximum is 350000"},
		{protocol.View{Rev: 1, Suspended: make([]protocol.Suspension, maxMembers*(maxMembers-1))}, ""},
		{protocol.View{Rev: 1, Suspended: make([]protocol.Suspension, 7000)}, "it needs 350200 bytes, and the maximum is 350000"},
	} {
		_, err := encode("production", "W", &c.view)
		if err == nil && c.want != "" || err != nil && err.Error() != "cluster view: it can't be stored: "+c.want {
			t.Errorf("%+.200v: got %v, want %q", c.view, err, c.want)
		}
	}
}

// FuzzDecode checks that every item that can be read can be written, and is the same view.
func FuzzDecode(f *testing.F) {
	f.Add(golden(f, "view.json"))
	f.Add(`{"cluster":{"S":"production"},"format":{"N":"1"},"rev":{"N":"1"},"creator":{"S":"0000000000000000"},"epoch":{"N":"0"},"members":{"L":[]}}`)
	f.Add(`{"cluster":{"S":"production"},"format":{"N":"2"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, _, err := decode("production", json.RawMessage(text))
		if err != nil {
			if !reflect.DeepEqual(v, protocol.View{}) {
				t.Fatalf("%v with the view %+v", err, v)
			}
			return
		}
		if v.Rev == 0 {
			t.Fatal("the revision is 0")
		}
		once := mustEncode(t, v)
		again, _, err := decode("production", json.RawMessage(once))
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice := mustEncode(t, again); twice != once {
			t.Fatalf("got  %s\nwant %s", twice, once)
		}
	})
}
