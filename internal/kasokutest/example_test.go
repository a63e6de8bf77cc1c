package kasokutest_test

import (
	"fmt"
	"testing"

	"github.com/kasoku/kasoku/internal/kasokutest"
)

// TestParallel shows tests that begin with the same items, run at the same time, and don't see each
// other's changes.
func TestParallel(t *testing.T) {
	seeded := kasokutest.Start(t)
	createMusic(t, seeded.Client())
	put(t, seeded.Client(), "Perfume", "Polyrhythm")
	for _, test := range []struct{ artist, song, want string }{
		{"Perfume", "Flash", "Flash"},
		{"Capsule", "Jumper", "Polyrhythm"},
	} {
		t.Run(test.artist, func(t *testing.T) {
			t.Parallel()
			db := seeded.Fork(t).Client()
			put(t, db, test.artist, test.song)
			if got := songOf(t, db, "Perfume"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A store without a test, for example in TestMain.
func ExampleNew() {
	s, err := kasokutest.New()
	if err != nil {
		panic(err)
	}
	defer s.Close()
	_, answer, err := s.Do("ListTables", []byte(`{}`))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", answer)
	// Output: {"TableNames":[]}
}
