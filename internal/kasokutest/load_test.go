package kasokutest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kasoku/kasoku/internal/kasokutest"
)

const (
	musicTable = `{"TableName":"Music","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}]}`
	perfume = `{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}`
)

// TestLoad loads tables and items, and a description of the loaded table into another store.
func TestLoad(t *testing.T) {
	s := kasokutest.Start(t)
	err := s.Load(fstest.MapFS{
		"Music.json":        {Data: []byte(musicTable)},
		"Music.items.jsonl": {Data: []byte(`{"Item":` + perfume + "}\n\n" + `{"Artist":{"S":"Capsule"},"Item":{"S":"Jumper"}}`)},
		"README":            {Data: []byte("no data")},
		"more/Other.json":   {Data: []byte("{")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := songOf(t, s.Client(), "Perfume"); got != "Polyrhythm" {
		t.Errorf("got the song %q", got)
	}
	_, answer, err := s.Do("GetItem", []byte(`{"TableName":"Music","Key":{"Artist":{"S":"Capsule"}}}`))
	if err != nil || !strings.Contains(string(answer), `"Item":{"S":"Jumper"}`) {
		t.Errorf("got %s, %v", answer, err)
	}
	_, description, err := s.Do("DescribeTable", []byte(`{"TableName":"Music"}`))
	if err != nil {
		t.Fatal(err)
	}
	other := kasokutest.Start(t)
	if err := other.Load(fstest.MapFS{"any.json": {Data: description}}); err != nil {
		t.Fatal(err)
	}
	put(t, other.Client(), "Perfume", "Flash")
}

// TestLoadMistakes checks that errors name the file and the line.
func TestLoadMistakes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Music.json", `{`, "kasokutest: Music.json: unexpected end of JSON input"},
		{"Music.json", `{"TableName":"Music"}`, "kasokutest: Music.json: "},
		{"none.items.json", perfume, "kasokutest: none.items.json:1: Requested resource not found"},
		{"Music.items.json", perfume + "\nno JSON", "kasokutest: Music.items.json:2: invalid character"},
		{"Music.items.json", perfume + "\n" + `{"Song":{"S":"x"}}`, "kasokutest: Music.items.json:2: One or more parameter values were invalid: Missing the key Artist"},
	} {
		s := kasokutest.Start(t)
		createMusic(t, s.Client())
		if err := s.Load(fstest.MapFS{test.name: {Data: []byte(test.text)}}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s %s: got %v, want %s", test.name, test.text, err, test.want)
		}
	}
}
