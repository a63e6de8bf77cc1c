package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestBuiltInConfiguration runs the built-in configuration of serve in a folder without a file:
// the printed commands work, and the stored items survive a restart.
func TestBuiltInConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	builtIn := standard{Port: new(0)}
	if n := strings.Count(builtIn.file(), "127.0.0.1:0"); n != 3 {
		t.Fatalf("%d listeners have any port in\n%s", n, builtIn.file())
	}
	serve := func(paste func(all string) string) string {
		t.Helper()
		cfg, err := builtIn.parse(&Environment{Lookup: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		n, err := start(cfg, "", &bytes.Buffer{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		var greeting bytes.Buffer
		builtIn.greet(&greeting, n.ServiceAddr("dynamodb"), n.DAXAddr("dynamodb"))
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", paste(greeting.String())).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	commands := func(all string) string {
		var list []string
		for line := range strings.Lines(all) {
			if strings.HasPrefix(line, "api") {
				list = append(list, line)
			}
		}
		if len(list) != 4 {
			t.Fatalf("got %d commands in\n%s", len(list), all)
		}
		return strings.Join(list, "")
	}
	const item = `{"Item":{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}}`
	out := serve(commands)
	if strings.Contains(out, "__type") || !strings.HasSuffix(out, item+"\n") {
		t.Errorf("the pasted commands printed\n%s", out)
	}
	out = serve(func(all string) string {
		lines := strings.SplitAfter(commands(all), "\n")
		return lines[0] + lines[3] // the function, and GetItem
	})
	if out != item+"\n" {
		t.Errorf("after a restart: %s", out)
	}
}

// TestStandardFile checks that the configuration without flags is the example for it.
func TestStandardFile(t *testing.T) {
	data, err := os.ReadFile("../../examples/embedded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m) *#.*$|    sync: .*\n`).ReplaceAllString(string(data), "")
	if got, want := (&standard{}).file(), strings.TrimLeft(example, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStandardFlags checks the configuration, the errors and the greeting of combinations of
// flags.
func TestStandardFlags(t *testing.T) {
	tcp := func(addr string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)) }
	for _, test := range []struct {
		name  string
		flags standard
		want  []string // in the configuration, the error or the greeting
		not   []string
	}{
		{"memory", standard{Memory: true, Port: new(0)}, []string{"admin:\n  listen: 127.0.0.1:0\n", "dax: 127.0.0.1:0\n", "embedded:memory", "end with this process"}, []string{"kasoku-data"}},
		{"own admin address", standard{Port: new(0), Admin: "127.0.0.1:9091"}, []string{"admin:\n  listen: 127.0.0.1:9091\n"}, []string{"token_env"}},
		{"a directory called memory", standard{Data: "memory"}, []string{"origin: embedded:./memory\n", "kept in memory,"}, nil},
		{"a directory with a space", standard{Data: "my data"}, []string{`origin: "embedded:my data"`}, nil},
		{"no DAX", standard{NoDAX: true}, nil, []string{"dax"}},
		{"open", standard{Listen: "0.0.0.0:8000", Insecure: true}, []string{"{mode: none, insecure: true}", "There is no authentication"}, nil},
		{"open without --insecure", standard{Listen: "0.0.0.0:8000"}, []string{"--listen 0.0.0.0:8000 can be reached", "add --insecure"}, nil},
		{"insecure on loopback", standard{Insecure: true}, nil, []string{"There is no authentication"}},
		{"a port too large", standard{Port: new(70000)}, []string{"--port: "}, nil},
		{"no address", standard{Listen: "here"}, []string{"--listen: "}, nil},
		{"no address for DAX", standard{DAX: "there"}, []string{"--dax: "}, nil},
		{"one address twice", standard{Listen: "127.0.0.1:9090"}, []string{"--listen: ", "127.0.0.1:9090"}, nil},
		{"open admin listener", standard{Admin: "0.0.0.0:9090"}, []string{"--admin: ", "KASOKU_ADMIN_TOKEN"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := test.flags.parse(&Environment{Lookup: func(string) (string, bool) { return "", false }})
			if err != nil {
				fmt.Fprint(&out, err)
			} else {
				test.flags.greet(&out, tcp("0.0.0.0:8000"), nil)
			}
			for _, text := range test.want {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in\n%s", text, &out)
				}
			}
			for _, text := range test.not {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q is in\n%s", text, &out)
				}
			}
		})
	}
}
