package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

var rewrite = flag.Bool("rewrite", false, "write the outcomes into testdata")

const dashes = "----------\n"

// environment looks up the environment variables of the cases in testdata.
func environment(name string) (string, bool) {
	value, ok := map[string]string{"APP_SECRET": "s3cret", "ADMIN_TOKEN": "t0ken", "EMPTY": "", "PORT": "8000", "TTL": "7m"}[name]
	return value, ok
}

// TestCases runs testdata/*.txt: a file, dashes, and either its mistakes or, as JSON, the
// values that differ from the defaults.
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
			got := outcome(t, input)
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

// directory returns a folder with the files that the cases name.
func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	for name, content := range map[string][]byte{
		"cert.pem": cert, "key.pem": key, "secret": []byte("from the file\n"), "empty_secret": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func outcome(t *testing.T, input string) string {
	t.Helper()
	dir := directory(t)
	file := filepath.Join(dir, "k.yaml")
	c, err := Parse(file, []byte(input), environment)
	if err != nil {
		return strings.ReplaceAll(err.Error(), dir+"/", "") + "\n"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, c.Changed(), "", "  "); err != nil {
		t.Fatalf("%s: %v", c.Changed(), err)
	}
	full, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range [][]byte{full, c.Changed()} {
		back, err := Parse(file, j, environment)
		if err != nil {
			t.Fatalf("the canonical form is refused: %v\n%s", err, j)
		}
		if !back.Equal(c) {
			t.Fatalf("the canonical form has other values: %s", j)
		}
	}
	return b.String() + "\n"
}

func TestFullFormIncludesDefaults(t *testing.T) {
	c, err := Parse("k.yaml", []byte(minimal), environment)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"admin":{"listen":"127.0.0.1:9090","limits":{"connections":64,"unauthenticated_idle":"10s"}}`, `"generations":4194304`, `"to":"none"`, `"sample":1`,
		`"query_ttl":"5m"`, `"negative_ttl":"1m"`, `"settle":"5s"`, `"refresh_ahead":0.1`, `"header_bytes":"32KiB"`,
		`"idle_timeout":"3m"`, `"enabled":true`, `"mode":"none"`, `"requests_per_second":0`,
	} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("the full form lacks %s: %s", want, got)
		}
	}
}

const minimal = `
services:
  orders:
    type: dynamodb
    listen: 127.0.0.1:8000
    origin: http://127.0.0.1:8001
    region: eu-west-1
    auth: {mode: none}
`

func TestSecretsAreResolvedButNotPrinted(t *testing.T) {
	text := `
admin: {token_env: ADMIN_TOKEN}
services:
  orders:
    type: dynamodb
    listen: 127.0.0.1:8000
    origin: https://dynamodb.eu-west-1.amazonaws.com
    auth:
      keys: [{id: A, secret_env: APP_SECRET}, {id: B, secret_file: secret}]
`
	file := filepath.Join(directory(t), "k.yaml")
	c, err := Parse(file, []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	keys := c.Service("orders").DynamoDB.Auth.Keys
	if keys[0].Secret() != "s3cret" || keys[1].Secret() != "from the file" || c.Admin.Token() != "t0ken" {
		t.Errorf("secrets are %q, %q and %q", keys[0].Secret(), keys[1].Secret(), c.Admin.Token())
	}
	full, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cret", "from the file", "t0ken"} {
		if bytes.Contains(full, []byte(secret)) {
			t.Errorf("%q is in %s", secret, full)
		}
	}
	other, err := Parse(file, []byte(text), func(name string) (string, bool) { return "changed", true })
	if err != nil {
		t.Fatal(err)
	}
	if c.Equal(other) {
		t.Error("a configuration with another secret is equal")
	}
}

func TestResolve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.yaml")
	c, err := Parse(path, []byte(minimal), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Resolve("x.pem"), filepath.Join(filepath.Dir(path), "x.pem"); got != want {
		t.Errorf("Resolve: got %s, want %s", got, want)
	}
	if got := c.Resolve("/x.pem"); got != "/x.pem" {
		t.Errorf("Resolve of an absolute path: got %s", got)
	}
	if c.Service("unknown") != nil {
		t.Error("Service returned a service for an unknown name")
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		input, _, _ := strings.Cut(string(data), dashes)
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("k.yaml", data, environment)
		if (c == nil) == (err == nil) {
			t.Fatalf("got configuration %v and error %v, want one of them", c, err)
		}
		if err != nil {
			return
		}
		if j, _ := c.MarshalJSON(); !json.Valid(j) {
			t.Fatalf("not JSON: %s", j)
		}
	})
}
