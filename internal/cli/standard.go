package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/config"
)

// standard are the flags of the configuration that serve uses in a folder without a
// kasoku.yaml: one DynamoDB-compatible store.
type standard struct {
	Memory     bool     `help:"Without a file: keep the store in memory, with nothing on disk." xor:"store"`
	Data       string   `help:"Without a file: the directory of the store; default: ./kasoku-data." placeholder:"DIR" xor:"store"`
	Listen     string   `help:"Without a file: the address of the store; default: 127.0.0.1:8000." placeholder:"HOST:PORT" xor:"listen"`
	Port       *int     `help:"Without a file: the port of the store on 127.0.0.1. With 0 each listener takes a port that is free, unless it has a flag." placeholder:"N" xor:"listen"`
	DAX        string   `name:"dax" help:"Without a file: the address for DAX clients; default: 127.0.0.1:8111." placeholder:"HOST:PORT" xor:"dax"`
	NoDAX      bool     `name:"no-dax" help:"Without a file: serve no DAX clients." xor:"dax"`
	Admin      string   `help:"Without a file: the address of the admin listener; default: 127.0.0.1:9090. One that others can reach needs a token in KASOKU_ADMIN_TOKEN." placeholder:"HOST:PORT"`
	Schema     []string `help:"Without a file: create the tables that these files describe, as DescribeTable returns them or CreateTable takes them; those that exist are kept." placeholder:"FILE" sep:"none"`
	Faults     string   `help:"Without a file: inject the faults of this plan, see kasoku fault set." placeholder:"FILE"`
	Insecure   bool     `help:"Without a file: allow --listen to be reached from other machines, though everybody there can read and change all tables."`
	Namespaces string   `help:"Without a file: shared (the default), or key for tables of each access key and region, as in DynamoDB Local without -sharedDb; then no DAX clients are served." enum:",shared,key" default:"" placeholder:"HOW"`
}

// given returns the flags that were given.
func (s *standard) given() (flags []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--memory", s.Memory}, {"--data", s.Data != ""}, {"--listen", s.Listen != ""}, {"--port", s.Port != nil},
		{"--dax", s.DAX != ""}, {"--no-dax", s.NoDAX}, {"--admin", s.Admin != ""}, {"--insecure", s.Insecure},
		{"--schema", len(s.Schema) > 0}, {"--faults", s.Faults != ""}, {"--namespaces", s.Namespaces != ""},
	} {
		if f.given {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// listen returns the address of the store.
func (s *standard) listen() string {
	switch {
	case s.Listen != "":
		return s.Listen
	case s.Port != nil:
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(*s.Port))
	}
	return "127.0.0.1:8000"
}

// or returns the address in a flag if it was given. Otherwise it returns usual, or its host
// with any port if the store takes any port, too.
func (s *standard) or(flag, usual string) string {
	if flag != "" {
		return flag
	}
	host, _, err := net.SplitHostPort(usual)
	if _, port, e := net.SplitHostPort(s.listen()); err == nil && e == nil && port == "0" {
		return net.JoinHostPort(host, "0")
	}
	return usual
}

// origin returns the origin of the service.
func (s *standard) origin() string {
	switch {
	case s.Memory:
		return "embedded:memory"
	case s.Data == "memory":
		return "embedded:./memory"
	case s.Data != "":
		return "embedded:" + s.Data
	}
	return "embedded:./kasoku-data"
}

// file returns the configuration as the text of a file.
func (s *standard) file() string {
	var b strings.Builder
	admin := s.or(s.Admin, "127.0.0.1:9090")
	fmt.Fprintf(&b, "admin:\n  listen: %s\n", scalar(admin))
	if s.Admin != "" && !config.Address(admin).Loopback() {
		b.WriteString("  token_env: KASOKU_ADMIN_TOKEN\n")
	}
	fmt.Fprintf(&b, "services:\n  dynamodb:\n    type: dynamodb\n    listen: %s\n", scalar(s.listen()))
	if !s.NoDAX && (s.Namespaces != "key" || s.DAX != "") {
		fmt.Fprintf(&b, "    dax: %s\n", scalar(s.or(s.DAX, "127.0.0.1:8111")))
	}
	auth := "{mode: none}"
	if s.Insecure {
		auth = "{mode: none, insecure: true}"
	}
	fmt.Fprintf(&b, "    origin: %s\n    auth: %s\n", scalar(s.origin()), auth)
	if s.Namespaces != "" {
		fmt.Fprintf(&b, "    namespaces: %s\n", s.Namespaces)
	}
	return b.String()
}

// scalar returns text as a scalar of YAML, quoted if it has a character that may mean something.
func scalar(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./:_-", r)
	}
	if text == "" || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "_") || strings.ContainsFunc(text, special) {
		return strconv.Quote(text)
	}
	return text
}

// parse returns the configuration. Its errors name flags.
func (s *standard) parse(env *Environment) (*config.Config, error) {
	if len(s.Schema) > 0 && s.Namespaces == "key" {
		return nil, fail(codeUsage, errors.New("--schema: with --namespaces key the tables of each access key are created by its own requests"))
	}
	if s.Faults != "" && s.Namespaces == "key" {
		return nil, fail(codeUsage, errors.New("--faults: a store with --namespaces key has none"))
	}
	c, err := config.Parse("(built in)", []byte(s.file()), env.Lookup)
	problems, ok := errors.AsType[config.Problems](err)
	if !ok {
		return c, err
	}
	var all []error
	for _, p := range problems {
		all = append(all, s.mistake(p))
	}
	return nil, fail(codeUsage, errors.Join(all...))
}

// mistake returns the error for a problem of the configuration.
func (s *standard) mistake(p config.Problem) error {
	switch key := strings.TrimPrefix(p.Path, "services.dynamodb."); {
	case key == "auth.mode":
		return fmt.Errorf("--listen %s can be reached from other machines, and there is no authentication: everybody there could read and "+
			"change all tables. Use an address on loopback, or a file with auth.keys, or add --insecure if that is intended", s.listen())
	case key == "listen" && s.Port != nil:
		return fmt.Errorf("--port: %s", p.Message)
	case key == "listen":
		return fmt.Errorf("--listen: %s", p.Message)
	case strings.HasPrefix(key, "dax"):
		return fmt.Errorf("--dax: %s", p.Message)
	case strings.HasPrefix(key, "admin"):
		return fmt.Errorf("--admin: %s", p.Message)
	case key == "origin":
		return fmt.Errorf("--data: %s", p.Message)
	}
	return errors.New(p.String())
}

// greet prints the running store, and how to use it. Commands to paste begin at the left
// margin. dax is nil if there is no listener for DAX clients.
func (s *standard) greet(w io.Writer, listen, dax net.Addr) {
	why, place := "There is no kasoku.yaml here, so this", "kept in ./kasoku-data"
	if len(s.given()) > 0 {
		why = "This"
	}
	switch {
	case s.Memory:
		place = "in memory, and end with this process"
	case s.Data != "":
		place = "kept in " + s.Data
	}
	credentials := "any region, any credentials"
	if s.Namespaces == "key" {
		credentials = "each access key and region has tables of its own, and DAX clients are not served"
	}
	fmt.Fprintf(w, `%[4]s is a DynamoDB-compatible store of your own: tables are %[5]s,
every AWS SDK works with its endpoint set to http://%[1]s (%[6]s). To try it, paste:

api() { curl -sS http://%[1]s/ -H "X-Amz-Target: DynamoDB_20120810.$1" -H 'Content-Type: application/x-amz-json-1.0' -d "$2"; echo; }
api CreateTable '{"TableName":"Music","KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}'
api PutItem '{"TableName":"Music","Item":{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}}'
api GetItem '{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}}}'
%[3]s
A file of your own begins with these lines (kasoku serve -c FILE; docs/configuration.md has the rest):

%[2]s
`, reachable(listen), s.file(), greetDAX(dax), why, place, credentials)
	if s.Insecure && !config.Address(s.listen()).Loopback() {
		fmt.Fprintf(w, "There is no authentication (--insecure): every program that can reach %s can read and change all tables.\n\n", listen)
	}
}

// greetDAX returns the part of the greeting for DAX clients.
func greetDAX(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	return fmt.Sprintf(`
Applications with a client of DAX need no cluster: its endpoint is dax://%[1]s. In Python, after the lines above:

python3 -m venv /tmp/dax && /tmp/dax/bin/pip -q install amazon-dax-client boto3
AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any /tmp/dax/bin/python -c "import amazondax; print(amazondax.AmazonDaxClient.resource(endpoint_url='dax://%[1]s', region_name='us-east-1').Table('Music').get_item(Key={'Artist': 'Perfume'})['Item'])"
`, reachable(addr))
}

// reachable returns an address at which programs on this machine reach a listener.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}
