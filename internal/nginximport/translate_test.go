package nginximport

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/nginxconf"
)

var rewrite = flag.Bool("rewrite", false, "write the actual output to testdata")

const dashes = "----------\n"

// TestCases runs testdata/*.txt: a file of nginx, dashes, and the expected result, or the
// notes if no service is made. The result must be a valid configuration.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(data), dashes)
			got := translate(t, input)
			if *rewrite {
				if err := os.WriteFile(file, []byte(input+dashes+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func translate(t *testing.T, input string) string {
	t.Helper()
	conf, err := nginxconf.Parse("nginx.conf", []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	made := Translate("nginx.conf", conf)
	if made.Services == 0 {
		var b strings.Builder
		for _, n := range made.Notes {
			fmt.Fprintf(&b, "%d: %s\n", n.Line, n.Text)
		}
		return b.String()
	}
	c, err := config.Parse("k.yaml", []byte(made.YAML), os.LookupEnv)
	if err != nil {
		t.Errorf("the result is not a valid configuration: %v\n%s", err, made.YAML)
	} else if len(c.Services) != made.Services {
		t.Errorf("got %d services, want %d", len(c.Services), made.Services)
	}
	return made.YAML
}

func TestDuration(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		d, ok := duration(text)
		if got := short(d); ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %s (%v), want %s", text, got, ok, want)
		}
	}
	f("60", "1m")
	f("250ms", "250ms")
	f("1m30s", "1m30s")
	f("1h", "1h")
	f("1d 12h", "36h")
	f("", "")
	f("0", "")
	f("x", "")
	f("5parsecs", "")
	f("999999999y", "")
}

// FuzzTranslate checks that every translation is a YAML configuration: text of nginx's file
// must not end the value that it is part of.
func FuzzTranslate(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		input, _, _ := strings.Cut(string(data), dashes)
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) {
		conf, err := nginxconf.Parse("nginx.conf", []byte(input))
		if err != nil {
			return
		}
		made := Translate("nginx.conf", conf)
		if (made.YAML == "") != (made.Services == 0) {
			t.Fatalf("%d services, and %q", made.Services, made.YAML)
		}
		// Its values may be invalid, for example a port out of range, but it must parse.
		_, err = config.Parse("k.yaml", []byte(made.YAML), os.LookupEnv)
		if err != nil && made.Services > 0 && strings.Contains(err.Error(), "YAML syntax") {
			t.Fatalf("%v\n%s", err, made.YAML)
		}
	})
}
