package local

import (
	"errors"
	"strings"
	"testing"
)

// TestParseNamespace checks which texts are namespaces, and the names of their directories.
func TestParseNamespace(t *testing.T) {
	long := strings.Repeat("k", maxKey)
	for text, want := range map[string]string{
		"test/us-east-1":         "test_us-east-1",
		"/us-east-1":             "_us-east-1",
		"AKIAEXAMPLE/eu-west-1":  "+a+k+i+a+e+x+a+m+p+l+e_eu-west-1",
		"akiaexample/eu-west-1":  "akiaexample_eu-west-1",
		"fakeMyKeyId/fakeRegion": "fake+my+key+id_fake+region",
		"a_b/c_d":                "a=5fb_c=5fd",
		"a/b_c":                  "a_b=5fc",
		"a_b/c":                  "a=5fb_c",
		"../x":                   "=2e=2e_x",
		"con.txt/x":              "con=2etxt_x",
		`..\..\a:b/x`:            "=2e=2e=5c=2e=2e=5ca=3ab_x",
		"+a/x":                   "=2ba_x",
		"=41/x":                  "=3d41_x",
		long + "/x":              long + "_x",
		"k/0123456789abcdefghij": "k_0123456789abcdefghij",
	} {
		n, err := ParseNamespace(text)
		if err != nil || n.directory() != want || n.String() != text {
			t.Errorf("%s: got %v %s, %v; want %s", text, n, n.directory(), err, want)
		}
	}
	for text, want := range map[string]error{
		"":                          errSlash,
		"key":                       errSlash,
		"key/":                      ErrRegion,
		"key/a/b":                   ErrRegion,
		"key/..":                    ErrRegion,
		"key/a b":                   ErrRegion,
		"key/é":                     ErrRegion,
		"key/0123456789abcdefghijk": ErrRegion,
		"a b/x":                     ErrKey,
		"a\x00/x":                   ErrKey,
		"é/x":                       ErrKey,
		"a\x7f/x":                   ErrKey,
		long + "k/x":                ErrKey,
		"\xff/x":                    ErrKey,
		strings.Repeat("/", 300):    ErrRegion,
	} {
		if n, err := ParseNamespace(text); !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v; want %v", text, n, err, want)
		}
	}
	for _, name := range []string{"", "a", "snapshots", "A_b", "a_B", "a_b_c", "a=41_b", "a=5F_b", "a+_b", "a+1_b", "a=_b", "a=x_b", "a_b.removed", "a.b_c", "a/b_c", "_", "a_"} {
		if n, ok := parseDirectory(name); ok {
			t.Errorf("directory %q: got %v", name, n)
		}
	}
}

// FuzzNamespace checks that each namespace has a directory of its own, whose name is valid in any
// file system, whether it ignores case or not, and belongs to that namespace alone.
func FuzzNamespace(f *testing.F) {
	for _, s := range []string{"test/us-east-1", "/x", "../../etc/passwd", "AKIA_é/US", "a=5fb/c+d", `a\b:c*?"<>|/x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := parseDirectory(text); ok && n.directory() != text {
			t.Errorf("directory %q is of %v, whose directory is %s", text, n, n.directory())
		}
		n, err := ParseNamespace(text)
		if err != nil {
			return
		}
		name := n.directory()
		if len(name) > 255 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-+=_") != "" {
			t.Errorf("%q has the directory %q", text, name)
		}
		if again, ok := parseDirectory(name); !ok || again != n || n.String() != text {
			t.Errorf("%q has the directory %q, which is of %q", text, name, again)
		}
	})
}
