package repo

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	spec      = "specs/KasokuCluster.tla"
	modelList = "specs/models.txt"
)

// model is a line of the list of models.
type model struct{ name, when, how, nodes, expected, constants, off, properties string }

// models returns the list of models.
func models(t *testing.T) (all []model) {
	t.Helper()
	for i, line := range strings.Split(string(read(t, modelList)), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, ";")
		if len(f) != 8 {
			t.Errorf("%s:%d has %d fields, not 8", modelList, i+1, len(f))
			continue
		}
		for j := range f {
			f[j] = strings.TrimSpace(f[j])
		}
		all = append(all, model{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
	}
	if len(all) < 50 {
		t.Fatalf("found only %d models", len(all))
	}
	return all
}

var (
	specRule       = regexp.MustCompile(`On\("([^"]+)"\)`)
	specDefinition = regexp.MustCompile(`(?m)^(\w+)(?:\([^)]*\))? *==`)
	specConstant   = regexp.MustCompile(`(?m)^  (\w+) (?:=|<-) `)
	specComment    = regexp.MustCompile(`(?m)\\\*.*$|\(\*.*\*\)`)
)

// names returns the set of the first submatches of a pattern in a file.
func names(t *testing.T, path string, pattern *regexp.Regexp) map[string]bool {
	t.Helper()
	set := map[string]bool{}
	for _, m := range pattern.FindAllStringSubmatch(string(read(t, path)), -1) {
		set[m[1]] = true
	}
	return set
}

// TestModels checks the list of models against the specification: every name in it exists,
// and each rule of the specification is switched off by some model.
func TestModels(t *testing.T) {
	rules := names(t, spec, specRule)
	defined := names(t, spec, specDefinition)
	constants := names(t, "specs/KasokuCluster.cfg", specConstant)
	used, seen := map[string]bool{}, map[string]bool{}
	for _, m := range models(t) {
		if seen[m.name] {
			t.Errorf("two models are named %s", m.name)
		}
		seen[m.name] = true
		oneOf(t, m, "when", m.when, "spec", "soak")
		oneOf(t, m, "how", m.how, "check", "random", "live", "once")
		oneOf(t, m, "nodes", m.nodes, "2", "3")
		if !slices.Contains([]string{"holds", "temporal"}, m.expected) && !defined[m.expected] {
			t.Errorf("%s expects %q, which %s does not define", m.name, m.expected, spec)
		}
		for _, c := range strings.Fields(m.constants) {
			name, value, _ := strings.Cut(c, "=")
			if !constants[name] || value == "" || name == "Kinds" && !defined[value] {
				t.Errorf("%s sets %q: no such constant or value", m.name, c)
			}
		}
		for _, rule := range strings.Split(m.off, ", ") {
			used[rule] = true
			if rule != "" && !rules[rule] {
				t.Errorf("%s switches off %q, which is not a rule", m.name, rule)
			}
		}
		for _, p := range strings.Fields(m.properties) {
			if !defined[p] {
				t.Errorf("%s checks %q, which %s does not define", m.name, p, spec)
			}
		}
		if (m.how == "live" || m.how == "once") && m.properties == "" {
			t.Errorf("%s checks liveness, and names no property", m.name)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if !used[rule] {
			t.Errorf("no model switches off the rule %q", rule)
		}
	}
}

func oneOf(t *testing.T, m model, field, value string, allowed ...string) {
	t.Helper()
	if !slices.Contains(allowed, value) {
		t.Errorf("%s: %s is %q, not one of %q", m.name, field, value, allowed)
	}
}

// TestSpecWords checks the comments of the specifications for banned words.
func TestSpecWords(t *testing.T) {
	found := 0
	walk(t, func(p string) {
		if !strings.HasSuffix(p, ".tla") {
			return
		}
		for i, line := range strings.Split(string(read(t, p)), "\n") {
			comment := quoted.ReplaceAllString(specComment.FindString(line), "")
			if comment != "" {
				found++
			}
			for _, w := range bannedWords {
				if m := w.pattern.FindString(comment); m != "" {
					t.Errorf("%s:%d: %q: write %s", p, i+1, m, w.instead)
				}
			}
		}
	})
	if found < 50 {
		t.Errorf("found only %d lines of comments", found)
	}
}
