package lists

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
)

func openWith(t *testing.T, limit int) *Registry {
	t.Helper()
	r, err := Open(Config{Dir: t.TempDir(), Max: limit, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestAdopt(t *testing.T) {
	a, b := openWith(t, 10), openWith(t, 10)
	id, err := a.ID([][]byte{[]byte("age"), []byte("name")}, Owner{Key: []byte("ONE"), Keys: 2})
	if err != nil {
		t.Fatal(err)
	}
	encoded, ok := a.Encode(id)
	if !ok || !Verify(id, encoded) || Verify(id+1, encoded) {
		t.Fatalf("encoded as %q, %v", encoded, ok)
	}
	if _, ok := b.Encode(id); ok {
		t.Error("a list that is not there was encoded")
	}
	want := []string{"age", "name"}
	if names, err := b.Adopt(id, encoded); err != nil || !slices.Equal(names, want) {
		t.Errorf("adopted %q, %v", names, err)
	}
	if names, ok := b.Names(id); !ok || !slices.Equal(names, want) {
		t.Errorf("%q, %v after it was adopted", names, ok)
	}
	if got := b.account("ONE").lists; got != 1 {
		t.Errorf("%d lists are charged to the key", got)
	}
	if _, err := b.Adopt(id, encoded); err != nil || b.used.lists != 1 {
		t.Errorf("adopted again: %d lists, %v", b.used.lists, err)
	}
}

// A list is stored only under the number that its names have.
func TestAdoptVerifies(t *testing.T) {
	r := openWith(t, 10)
	names := appendNames(nil, [][]byte{[]byte("age")})
	id := idOf(names)
	overlong := append([]byte{0x83, 0x00}, "age"...) // the length in two bytes
	for name, c := range map[string]struct {
		id      uint64
		encoded []byte
	}{
		"another number":      {id + 1, appendBody(nil, "ONE", names)},
		"no names":            {Empty, appendBody(nil, "ONE", nil)},
		"no names, its hash":  {idOf(nil), appendBody(nil, "ONE", nil)},
		"no owner":            {id, names},
		"empty":               {id, nil},
		"truncated":           {id, appendBody(nil, "ONE", names[:2])},
		"not canonical":       {idOf(overlong), appendBody(nil, "", overlong)},
		"its canonical names": {id, appendBody(nil, "", append(slices.Clone(overlong), 0))},
		"too long":            {id, make([]byte, maxBytes+maxOwner+1)},
	} {
		if names, err := r.Adopt(c.id, c.encoded); err == nil || names != nil || Verify(c.id, c.encoded) {
			t.Errorf("%s: adopted %q, %v", name, names, err)
		}
	}
	if r.used.lists != 0 {
		t.Errorf("%d lists were stored", r.used.lists)
	}
}

// The share of a key does not limit adopted lists, but the total number does. Such a list has
// names nevertheless.
func TestAdoptLimits(t *testing.T) {
	a, b := openWith(t, 10), openWith(t, 2)
	by := Owner{Key: []byte("ONE"), Keys: 2}
	for i, name := range []string{"x", "y", "z"} {
		id, err := a.ID([][]byte{[]byte(name)}, by)
		if err != nil {
			t.Fatal(err)
		}
		encoded, _ := a.Encode(id)
		names, err := b.Adopt(id, encoded)
		if !slices.Equal(names, []string{name}) || i < 2 && err != nil || i == 2 && !errors.Is(err, ErrFull) {
			t.Errorf("list %d: %q, %v", i, names, err)
		}
	}
}
