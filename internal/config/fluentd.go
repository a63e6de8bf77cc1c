package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Fluentd specifies the servers for `to: fluentd` and the way of sending: Fluentd, Fluent
// Bit, the OpenTelemetry collector's fluentforward receiver, or any other server of the
// forward protocol. observability.md describes when records can be lost.
type Fluentd struct {
	// The servers: `tcp://host:port`, `tls://host:port` or `unix:///path`; the default port
	// is 24224. A server may be down: records wait for it.
	Servers []FluentdServer `yaml:"servers" default:"tcp://127.0.0.1:24224"`
	// Distribution of records over several servers: `failover` sends them to the first one
	// that is up, `round` to all that are up in turn.
	Balance string `yaml:"balance" default:"failover" enum:"failover|round"`
	// Tag of the records, by which the server routes them.
	Tag string `yaml:"tag" default:"kasoku.access"`
	// Whether the server acknowledges records. With acknowledgements, records lost with a
	// connection are sent again, so the server may receive some twice; without, they are
	// lost. Turn it off for servers that don't acknowledge.
	Ack bool `yaml:"ack" default:"true"`
	// Directory for records that don't fit into memory, and for those that are unsent at the
	// exit; they are sent first after a restart or a crash. Left out: such records are
	// dropped and counted. Two processes must not share it.
	Spill string `yaml:"spill"`
	// Maximum size of the files in that directory; beyond it records are dropped and
	// counted.
	SpillMax Size `yaml:"spill_max" default:"256MiB" min:"1MiB"`
	// Maximum size of the records that wait in memory. A record takes about 300 bytes.
	Memory Size `yaml:"memory" default:"64MiB" min:"1MiB" max:"16GiB"`
	// How long a record may wait to be sent together with others. Longer times make fewer
	// and larger messages, and are lost in a crash of Kasoku.
	FlushInterval Duration `yaml:"flush_interval" default:"200ms" min:"1ms" max:"1m"`
	// Compression of messages. gzip makes them about ten times smaller and takes processor
	// time; zstd takes less of it, and needs Fluentd 1.19 or Fluent Bit 4.
	Compression string `yaml:"compression" default:"none" enum:"none|gzip|zstd"`
	// Encryption, for servers written `tls://`. Left out, they are verified with
	// the system's authorities.
	TLS *FluentdTLS `yaml:"tls"`
	// Name of the environment variable that holds the key with which server and client
	// authenticate each other: the server's shared_key.
	SharedKeyEnv string `yaml:"shared_key_env"`
	// File that holds the key, instead of shared_key_env; white space at its end
	// is ignored.
	SharedKeyFile string `yaml:"shared_key_file"`
	// User name, for servers that require one besides the shared key.
	Username string `yaml:"username"`
	// Name of the environment variable that holds the user's password.
	PasswordEnv string `yaml:"password_env"`
	// File that holds the password, instead of password_env; white space at its end
	// is ignored.
	PasswordFile string `yaml:"password_file"`

	_ struct{} `yaml:"shared_key" refuse:"the file is copied and committed; name an environment variable in shared_key_env or a file in shared_key_file"`
	_ struct{} `yaml:"password" refuse:"the file is copied and committed; name an environment variable in password_env or a file in password_file"`

	sharedKey, password string
}

// SharedKey returns the resolved key, or "" if none is used.
func (f *Fluentd) SharedKey() string { return f.sharedKey }

// Password returns the user's resolved password.
func (f *Fluentd) Password() string { return f.password }

// FluentdTLS is the encryption of the connections to Fluentd servers. The files are read at
// the start and when the configuration changes.
type FluentdTLS struct {
	// PEM file with the authorities for the servers' certificates; left out: the system's.
	CA string `yaml:"ca"`
	// PEM file with the client's certificate, for servers that require one.
	Cert string `yaml:"cert"`
	// PEM file with that certificate's private key.
	Key string `yaml:"key"`
	// Name that must be in the servers' certificates; left out: the host's.
	ServerName string `yaml:"server_name"`
}

// FluentdServer is the address of a server that speaks the forward protocol.
type FluentdServer string

var errFluentdServer = errors.New("is no server; write for instance tcp://127.0.0.1:24224, tls://logs.example.com:24224 or unix:///run/fluent.sock")

func (s *FluentdServer) set(text string) error {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "tcp", text
	}
	switch scheme {
	case "unix":
		if !strings.HasPrefix(rest, "/") || len(rest) > 100 {
			return fmt.Errorf("needs the path of a socket after unix://, of at most 100 bytes")
		}
	case "tcp", "tls":
		if !fluentdHost(rest) {
			return errFluentdServer
		}
	default:
		return errFluentdServer
	}
	*s = FluentdServer(scheme + "://" + rest)
	return nil
}

// fluentdHost reports whether s is a host, with or without a port.
func fluentdHost(s string) bool {
	if s == "" || strings.ContainsAny(s, "/?#@ \t") {
		return false
	}
	if !strings.Contains(s, ":") || strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return true
	}
	host, port, err := net.SplitHostPort(s)
	n, portErr := strconv.ParseUint(port, 10, 16)
	return err == nil && portErr == nil && host != "" && n > 0
}

func (s FluentdServer) String() string { return string(s) }

// withPort returns the address with its port, or with the default port.
func (s FluentdServer) withPort() string {
	scheme, rest, _ := strings.Cut(string(s), "://")
	if _, _, err := net.SplitHostPort(rest); err == nil || scheme == "unix" {
		return string(s)
	}
	return string(s) + ":24224"
}

// TLS reports whether the connection is encrypted.
func (s FluentdServer) TLS() bool { return strings.HasPrefix(string(s), "tls://") }

func (k *checker) fluentd(path string, f *Fluentd) {
	f.sharedKey = k.secret(path, "shared_key", f.SharedKeyEnv, f.SharedKeyFile)
	f.password = k.secret(path, "password", f.PasswordEnv, f.PasswordFile)
	shared := f.SharedKeyEnv != "" || f.SharedKeyFile != ""
	password := f.PasswordEnv != "" || f.PasswordFile != ""
	switch {
	case f.Username != "" && !shared:
		k.failf(path+".username", "has no effect without a shared key: servers ask for it first; name it in shared_key_env or shared_key_file")
	case f.Username != "" && !password:
		k.failf(path+".username", "lacks a password: name an environment variable in password_env or a file in password_file")
	case f.Username == "" && password:
		k.failf(path, `lacks "username": a password without a user has no effect`)
	}
	if len(f.Servers) == 0 {
		k.failf(path+".servers", "no server: there is nowhere to send to")
	}
	for i, s := range f.Servers {
		same := func(o FluentdServer) bool { return s != "" && o.withPort() == s.withPort() }
		if slices.ContainsFunc(f.Servers[:i], same) {
			k.failf(fmt.Sprintf("%s.servers[%d]", path, i), "%s is given twice", s)
		}
	}
	if f.Tag == "" || strings.ContainsAny(f.Tag, " \t\r\n") {
		k.failf(path+".tag", "%q is no tag: words with dots between them, such as kasoku.access", f.Tag)
	}
	if f.Spill == "" && f.SpillMax != defaultOf[Fluentd]().SpillMax {
		k.failf(path+".spill_max", `has no effect without "spill"`)
	}
	if f.TLS != nil {
		k.fluentdTLS(path+".tls", f)
	}
}

func (k *checker) fluentdTLS(path string, f *Fluentd) {
	if !slices.ContainsFunc(f.Servers, FluentdServer.TLS) {
		k.failf(path, "has no effect without a server that is written tls://host:port")
	}
	k.clientTLS(path, f.TLS.CA, f.TLS.Cert, f.TLS.Key)
}
