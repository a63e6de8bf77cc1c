package anonymise

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/glob"
)

// file is the content of a file of rules.
type file struct {
	SecretEnv  string `yaml:"secret_env"`
	SecretFile string `yaml:"secret_file"`
	Rules      []rule `yaml:"rules" required:"without a rule nothing is anonymised"`
}

type rule struct {
	Tables []string `yaml:"tables,many"`
	Path   string   `yaml:"path" required:"it names the attribute, for example email or orders[*].address"`
	Action string   `yaml:"action" required:"it is one of hash, mask, fake, remove, constant" enum:"hash|mask|fake|remove|constant"`
	As     *string  `yaml:"as" enum:"name|first_name|last_name|email|phone|address|city|company|date|ip|uuid"`
	Keep   *int     `yaml:"keep" min:"0" max:"1024"`
	Value  *string  `yaml:"value"`

	path path
}

// defaultKeep is the number of characters that a mask leaves.
const defaultKeep = 4

// minSecret is the minimum length of the secret: a short one can be guessed, and with it the
// values behind hashes.
const minSecret = 16

// Rules are the rules of a file.
type Rules struct {
	doc    *config.Document
	rules  []rule
	keyed  *keyed
	digest string
}

// Parse reads a file of rules. env looks up environment variables. The error is a
// [config.Problems].
func Parse(name string, data []byte, env func(string) (string, bool)) (*Rules, error) {
	var f file
	doc := config.Decode(name, data, env, &f, "a rule")
	secret := doc.Secret("secret", f.SecretEnv, f.SecretFile)
	keyed := false
	for i := range f.Rules {
		f.Rules[i].check(doc, fmt.Sprintf("rules[%d]", i))
		keyed = keyed || f.Rules[i].Action == "hash" || f.Rules[i].Action == "fake"
	}
	switch {
	case keyed && f.SecretEnv == "" && f.SecretFile == "":
		doc.Failf("rules", "hash and fake need a secret: give secret_env or secret_file")
	case secret != "" && len(secret) < minSecret:
		key := "secret_env"
		if f.SecretFile != "" {
			key = "secret_file"
		}
		doc.Failf(key, "the secret has %d bytes; at least %d are needed", len(secret), minSecret)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(data)
	return &Rules{doc, f.Rules, newKeyed(secret), hex.EncodeToString(mac.Sum(nil)[:8])}, nil
}

// check reports mistakes in a rule, which is at a path of the file.
func (r *rule) check(doc *config.Document, at string) {
	for i, pattern := range r.Tables {
		if pattern == "" {
			doc.Failf(fmt.Sprintf("%s.tables[%d]", at, i), "is empty and matches no table")
		}
	}
	var err error
	if r.path, err = parsePath(r.Path); err != nil && r.Path != "" {
		doc.Failf(at+".path", "%q %v", r.Path, err)
	}
	if r.Action == "" {
		return // reported already
	}
	f := func(key, action string, given, required bool) {
		switch {
		case given && r.Action != action:
			doc.Failf(at+"."+key, "belongs to the action %s, and this one is %s", action, r.Action)
		case required && !given && r.Action == action:
			doc.Failf(at, "lacks %q: the action %s needs it", key, action)
		}
	}
	f("as", "fake", r.As != nil, true)
	f("keep", "mask", r.Keep != nil, false)
	f("value", "constant", r.Value != nil, true)
}

// Digest returns a text that differs between files of rules, and between secrets.
func (r *Rules) Digest() string { return r.digest }

// Plan is the list of rules for a table. It is safe for concurrent use.
type Plan struct {
	rules []*rule
	keyed *keyed
}

// Table returns the rules for a table with some key attributes. Key attributes must remain
// unique: an action that can make them equal is an error, a [config.Problems].
func (r *Rules) Table(name string, keys []string) (*Plan, error) {
	p := &Plan{keyed: r.keyed}
	for i := range r.rules {
		u := &r.rules[i]
		if len(u.Tables) > 0 && !slices.ContainsFunc(u.Tables, func(pattern string) bool { return glob.Match(pattern, name) }) {
			continue
		}
		unique := u.Action == "hash" || u.Action == "fake" && *u.As == "uuid"
		if key := u.path[0].name; len(u.path) == 1 && slices.Contains(keys, key) && !unique {
			r.doc.Failf(fmt.Sprintf("rules[%d].action", i),
				"%s is a key attribute of the table %s, and %s would make different items one; allowed: hash, or fake as uuid", key, name, u.Action)
			return nil, r.doc.Err()
		}
		p.rules = append(p.rules, u)
	}
	return p, nil
}

// Apply returns an item, or a key, with its values replaced. The rules apply in the order of
// the file.
func (p *Plan) Apply(item value.Value) value.Value {
	for _, r := range p.rules {
		item, _ = r.path.edit(item, func(v value.Value) (value.Value, bool) { return p.replace(r, v) })
	}
	return item
}

// replace returns the value in the place of v, and false if there is none.
func (p *Plan) replace(r *rule, v value.Value) (value.Value, bool) {
	switch r.Action {
	case "remove":
		return v, false
	case "constant":
		return constant(v, *r.Value), true
	}
	return leaves(v, func(v value.Value) value.Value {
		switch r.Action {
		case "hash":
			return p.keyed.hash(v)
		case "fake":
			return p.keyed.fake(*r.As, v)
		}
		keep := defaultKeep
		if r.Keep != nil {
			keep = *r.Keep
		}
		return mask(v, keep)
	}), true
}

// constant returns the text as a value: a number in the place of a number if it is one, else
// a string.
func constant(v value.Value, text string) value.Value {
	if v.Type == value.Number {
		if n, ok := numberOf(text); ok {
			return n
		}
	}
	return value.Value{Type: value.String, Text: []byte(text)}
}

// numberOf returns the Number with a text.
func numberOf(text string) (value.Value, bool) {
	if strings.ContainsAny(text, "\"\\\n") {
		return value.Value{}, false
	}
	v, err := value.Parse([]byte(`{"N":"` + text + `"}`))
	return v, err == nil
}
