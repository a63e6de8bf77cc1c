package config

import (
	"os"
	"path/filepath"
	"testing"
)

// rules is the content of a document.
type rules struct {
	SecretEnv  string `yaml:"secret_env"`
	SecretFile string `yaml:"secret_file"`
	Rules      []rule `yaml:"rules" required:"nothing would be done"`
}

type rule struct {
	Path   string `yaml:"path" required:"it is the place"`
	Action string `yaml:"action" enum:"hash|remove"`
	Keep   int    `yaml:"keep" default:"4"`
}

func TestDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "secret"), []byte("s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	decode := func(text string) (r rules, secret string, d *Document) {
		d = Decode(file, []byte(text), environment, &r, "a rule")
		return r, d.Secret("secret", r.SecretEnv, r.SecretFile), d
	}
	r, secret, d := decode("secret_file: secret\nrules:\n  - {path: a, action: hash}\n")
	if err := d.Err(); err != nil || secret != "s" || len(r.Rules) != 1 || r.Rules[0] != (rule{"a", "hash", 4}) {
		t.Errorf("got %+v, %q, %v", r, secret, err)
	}
	d.Failf("rules[0].path", "is wrong")
	if got, want := d.Err().Error(), file+":3:6: rules[0].path: is wrong"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	f := func(text, want string) {
		t.Helper()
		_, _, d := decode(text)
		if got := d.Err(); got == nil || got.Error() != want {
			t.Errorf("%q: got %v\nwant %s", text, got, want)
		}
	}
	f("", file+": the file is empty; it needs at least a rule")
	f("rules: [{path: a, action: hsah}]", file+`:1:27: rules[0].action: "hsah" is not allowed (did you mean "hash"?); allowed: hash, remove`)
	f("rules: [{paht: a, path: b}]", file+`:1:10: rules[0]: unknown key "paht" (did you mean "path"?); allowed here: path, action, keep`)
	f("rules: [{path: a}]\nsecret_env: UNSET_HERE", file+":2:1: secret_env: the environment variable UNSET_HERE is not set")
}
