package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/config"
)

type importBBPD struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"bbpd's configuration; default: the one that bbpd would read, $$GODYNAMO_CONF_FILE, ~/.aws-config.json or /etc/aws-config.json."`
}

// bbpdFile is the configuration of bbpd. Names may have any case; unknown names are ignored.
type bbpdFile struct {
	Services struct {
		Default struct {
			Params struct {
				ID     string `json:"access_key_id"`
				Secret string `json:"secret_access_key"`
				Syslog bool   `json:"use_sys_log"`
			} `json:"params"`
		} `json:"default_settings"`
		DynamoDB struct {
			Host      string `json:"host"`
			Zone      string `json:"zone"`
			Scheme    string `json:"scheme"`
			Port      int    `json:"port"`
			Keepalive bool   `json:"keepalive"`
			IAM       struct {
				Use   bool `json:"use_iam"`
				Watch bool `json:"watch"`
			} `json:"iam"`
		} `json:"dynamo_db"`
	} `json:"services"`
}

func (c *importBBPD) Run(env *Environment) error {
	file, data, err := c.read(env)
	if err != nil {
		return err
	}
	var f bbpdFile
	if err := json.Unmarshal(withoutComments(data), &f); err != nil {
		return fmt.Errorf("%s is no configuration of bbpd: %w", file, err)
	}
	if f.Services.DynamoDB.Host == "" {
		return fmt.Errorf("%s names no services.dynamo_db.host", file)
	}
	text := f.translate(file)
	if _, err := config.Parse(file, []byte(text), env.Lookup); err != nil {
		return fmt.Errorf("%s makes no configuration: %w", file, err)
	}
	_, err = io.WriteString(env.Stdout, text)
	return err
}

// read reads the given file, or the first one that bbpd would find.
func (c *importBBPD) read(env *Environment) (file string, data []byte, err error) {
	if c.File != "" {
		data, err = os.ReadFile(c.File)
		return c.File, data, err
	}
	var places []string
	if named, ok := env.Lookup("GODYNAMO_CONF_FILE"); ok && named != "" {
		places = append(places, named)
	}
	if home, ok := env.Lookup("HOME"); ok && home != "" {
		places = append(places, filepath.Join(home, ".aws-config.json"))
	}
	places = append(places, "/etc/aws-config.json")
	for _, file := range places {
		data, err := os.ReadFile(file)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, data, err
		}
	}
	return "", nil, fmt.Errorf("no configuration of bbpd: there is no %s", strings.Join(places, ", no "))
}

// withoutComments replaces // comments outside strings by spaces: the sample that was
// distributed with bbpd has them, though bbpd itself refuses them.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	quoted := false
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '\\' && quoted:
			i++
		case out[i] == '"':
			quoted = !quoted
		case out[i] == '\n':
			quoted = false // strings don't span lines
		case !quoted && out[i] == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		}
	}
	return out
}

// translate returns the equivalent configuration.
func (f *bbpdFile) translate(file string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# In place of bbpd as %s has it.", oneLine(file))
	for _, note := range f.notes() {
		line("# - %s", strings.ReplaceAll(note, "\n", "\n#   "))
	}
	line("admin:")
	line("  listen: 127.0.0.1:9090          # /metrics, /readyz, /api/v1/report, purges")
	line("services:")
	line("  bbpd:")
	line("    type: dynamodb")
	line("    listen: 127.0.0.1:12333       # bbpd's port, but for this machine only: bbpd was open to all")
	line("    origin: %s", quotedYAML(f.origin()))
	line("    region: %s", quotedYAML(f.region()))
	line("    auth: {mode: none}            # no signatures, as with bbpd; for other machines: keys, see docs/bbpd.md")
	line("    plain_json: true              # /GetItemJSON and all other routes of bbpd")
	line("    arrays: sets                  # as bbpd: an array of numbers, or of strings, is a set")
	line("    item_ttl: 5m                  # a coherent cache, which bbpd did not have. If others write to these")
	line("    query_ttl: 5m                 # tables directly, changes may be unseen this long; 0s turns it off")
	return b.String()
}

// oneLine keeps a name from breaking out of its comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func quotedYAML(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}

// fallbackRegion is used for a file without a zone, with which bbpd could not sign requests.
const fallbackRegion = "us-east-1"

func (f *bbpdFile) region() string { return cmp.Or(f.Services.DynamoDB.Zone, fallbackRegion) }

func (f *bbpdFile) inAWS() bool {
	host := f.Services.DynamoDB.Host
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") || strings.HasSuffix(host, ".api.aws")
}

// origin returns the origin of bbpd's requests. For AWS it uses TLS, even if bbpd did not.
func (f *bbpdFile) origin() string {
	d := &f.Services.DynamoDB
	if f.inAWS() {
		return "https://" + d.Host
	}
	return cmp.Or(strings.ToLower(d.Scheme), "http") + "://" + net.JoinHostPort(d.Host, strconv.Itoa(cmp.Or(d.Port, 80)))
}

// notes returns the differences that the configuration lines can't express.
func (f *bbpdFile) notes() (notes []string) {
	note := func(text string) { notes = append(notes, text) }
	s := &f.Services
	if s.DynamoDB.IAM.Use {
		note("Credentials: services.dynamo_db.iam names role files, which Kasoku does not read. Give this machine or container the role\n" +
			"itself, and the AWS SDK's default chain fetches its credentials and renews them; or set AWS_ACCESS_KEY_ID,\n" +
			"AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.")
	}
	if s.Default.Params.ID != "" || s.Default.Params.Secret != "" {
		note("Credentials: services.default_settings.params holds a key pair. Kasoku keeps no secrets in its file: put the pair in\n" +
			"~/.aws/credentials, or in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where `kasoku serve` runs.")
	}
	if !s.DynamoDB.IAM.Use && s.Default.Params.ID == "" && s.Default.Params.Secret == "" {
		note("Credentials: the file has none. Kasoku takes them from the AWS SDK's default chain.")
	}
	if f.inAWS() && !strings.EqualFold(s.DynamoDB.Scheme, "https") {
		note("Requests to the origin use https. bbpd sent them in clear text, its default.")
	}
	if s.DynamoDB.Zone == "" {
		note("services.dynamo_db.zone is missing; " + fallbackRegion + " below is a guess.")
	}
	if s.DynamoDB.Keepalive {
		note("keepalive has no counterpart: connections are kept and watched without it.")
	}
	if s.Default.Params.Syslog {
		note("use_sys_log has no counterpart, and did nothing in bbpd. For a line for each request: access_log.")
	}
	note("A second instance on 12334 is not needed: `kill -HUP` reads this file again with every connection kept. Clients that use\n" +
		"12334 as well are better off with 12333 alone: two services would each have a cache that does not see the other's writes.")
	note("Retries: at most three attempts within request_timeout, 30s, instead of seven within nine minutes; batches go on until then.")
	return notes
}
