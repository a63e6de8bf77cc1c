package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// checker finds mistakes that a single key can't show: keys that must agree, and files and
// variables that must exist. It also fills in values that the file leaves out.
type checker struct {
	*decoder
	config *Config
}

func (k *checker) failf(path, format string, args ...any) {
	k.report(k.place(path), path, format, args...)
}

func (k *checker) check() {
	c := k.config
	k.admin(&c.Admin)
	k.accessLog(&c.AccessLog)
	if c.Tracing != nil {
		k.tracing(c.Tracing)
	}
	k.cluster()
	for i := range c.Services {
		k.service(&c.Services[i])
	}
	k.listeners()
	k.stores()
	k.memory()
	k.disk()
	if len(c.Services) == 0 && (c.Cluster == nil || !c.Cluster.Witness) && len(k.problems) == 0 {
		k.failf("services", "there is nothing to serve without one")
	}
}

func (k *checker) admin(a *Admin) {
	a.token = k.secret("admin", "token", a.TokenEnv, a.TokenFile)
	a.keysToken = k.secret("admin", "keys_token", a.KeysTokenEnv, a.KeysTokenFile)
	if !a.Listen.Loopback() && a.TokenEnv == "" && a.TokenFile == "" {
		k.failf("admin.listen", "%s can be reached by others, so a token is needed: token_env or token_file", a.Listen)
	}
}

// secret returns the value that NAME_env or NAME_file refers to; at most one may be given.
func (k *checker) secret(path, name, env, file string) string {
	envPath, filePath := join(path, name+"_env"), join(path, name+"_file")
	switch {
	case env != "" && file != "":
		k.failf(filePath, "given together with %s_env; only one of them can be meant", name)
	case env != "":
		value, ok := k.env(env)
		if !ok {
			k.failf(envPath, "the environment variable %s is not set", env)
		} else if value == "" {
			k.failf(envPath, "the environment variable %s is empty", env)
		}
		return value
	case file != "":
		data, err := os.ReadFile(k.config.Resolve(file))
		value := strings.TrimRight(string(data), " \t\r\n")
		if err != nil {
			k.failf(filePath, "can't be read: %v", err)
		} else if value == "" {
			k.failf(filePath, "the file is empty")
		}
		return value
	}
	return ""
}

func (k *checker) accessLog(a *AccessLog) {
	switch {
	case a.To == "file" && a.File == "":
		k.failf("access_log", `lacks "file": "to: file" needs the path to write to`)
	case a.To != "file" && a.File != "":
		k.failf("access_log.file", `has no effect without "to: file"`)
	}
	switch {
	case a.To == "fluentd" && a.Fluentd == nil:
		usual := defaultOf[Fluentd]()
		a.Fluentd = &usual
	case a.To != "fluentd" && a.Fluentd != nil:
		k.failf("access_log.fluentd", `has no effect without "to: fluentd"`)
	case a.Fluentd != nil:
		k.fluentd("access_log.fluentd", a.Fluentd)
	}
}

// isServiceName reports whether a text is a name for a service. It needs no regular expression,
// which each start would have to compile.
func isServiceName(text string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, other)
}

func (k *checker) service(s *Service) {
	path := join("services", s.Name)
	if !isServiceName(s.Name) {
		k.failf(path, "%q is no name for a service: up to 64 letters, digits, - and _", s.Name)
	}
	if s.TLS != nil {
		k.tls(path+".tls", s.TLS)
	}
	if c := s.Concurrency; c.Min > c.Max || c.Initial < c.Min || c.Initial > c.Max {
		k.failf(path+".concurrency", "min %d, initial %d, max %d must not fall", c.Min, c.Initial, c.Max)
	}
	if r := s.Retry; r.Base > r.Cap {
		k.failf(path+".retry", "base %s is above cap %s", r.Base, r.Cap)
	}
	if s.DynamoDB != nil {
		k.dynamodb(path, s)
	}
	if s.HTTP != nil {
		k.http(path, s)
	}
	if s.CouchDB != nil {
		k.couchdb(path, s)
	}
	if s.Memcached != nil {
		k.memcached(path, s)
	}
}

func (k *checker) tls(path string, t *TLS) {
	switch {
	case t.ACME != nil:
		k.acme(path, t)
	case t.Cert == "":
		k.failf(path, `lacks "cert": the clients check it; or "acme", which obtains one`)
	case t.Key == "":
		k.failf(path, `lacks "key": it proves that the certificate is ours`)
	default:
		if _, err := tls.LoadX509KeyPair(k.config.Resolve(t.Cert), k.config.Resolve(t.Key)); err != nil {
			k.failf(path, "certificate and key can't be used: %v", err)
		}
	}
	k.authorities(path+".client_ca", t.ClientCA)
}

// authorities checks a file with certificates of authorities. An empty name is skipped.
func (k *checker) authorities(path, file string) {
	if file == "" {
		return
	}
	data, err := os.ReadFile(k.config.Resolve(file))
	if err != nil {
		k.failf(path, "can't be read: %v", err)
	} else if !x509.NewCertPool().AppendCertsFromPEM(data) {
		k.failf(path, "holds no PEM certificate")
	}
}

func (k *checker) dynamodb(path string, s *Service) {
	d := s.DynamoDB
	k.origin(path, s)
	switch of := regionOf(d.Origin); {
	case d.Region == "":
		d.Region = of
	case of != "" && of != d.Region && !d.Origin.Embedded():
		k.failf(path+".region", "%q is not the region of the origin %s, which refuses requests signed for another one; leave region out, or write %s", d.Region, d.Origin, of)
	}
	if _, given := k.places[path+".region"]; d.Region == "" && d.Origin != "" && !given {
		k.failf(path, `lacks "region": the origin %s does not contain it`, d.Origin)
	}
	k.auth(path+".auth", s)
	k.patterns(path+".expire_items.tables", d.ExpireItems.Tables)
	const unread = "has no effect: without plain_json no plain items are read"
	if !d.PlainJSON && d.Arrays == "lists" {
		k.failf(path+".arrays", unread)
	}
	k.dynamoJSONP(path, d)
	if d.DAX != nil {
		k.dax(path+".dax", s)
	}
	k.streams(path, d)
	k.verify(path, d)
	k.namespaces(path, d)
	for i := range d.Tables {
		k.pattern(join(path+".tables", d.Tables[i].Pattern), d.Tables[i].Pattern)
		if !d.PlainJSON && d.Tables[i].Arrays != "" {
			k.failf(join(path+".tables", d.Tables[i].Pattern)+".arrays", unread)
		}
		for j := range i {
			if glob.Match(d.Tables[j].Pattern, d.Tables[i].Pattern) {
				k.failf(join(path+".tables", d.Tables[i].Pattern), "never used: %q above matches whatever this one does", d.Tables[j].Pattern)
				break
			}
		}
	}
}

// awsHost matches the hosts of DynamoDB: regional, FIPS, dual-stack, China, account-based
// (ddb) and VPC endpoints.
var awsHost = lazyregexp.New(`^(?:.+\.)?(?:dynamodb|ddb)(?:-fips)?\.([a-z0-9-]+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws|api\.amazonwebservices\.com\.cn)$`)

// origin reports keys that have no meaning for the chosen origin, unless they are set to
// their defaults.
func (k *checker) origin(path string, s *Service) {
	if !s.DynamoDB.Origin.Embedded() {
		var usual DynamoDB
		setDefaults(reflect.ValueOf(&usual).Elem(), "")
		f := func(key string, changed bool) {
			if changed {
				k.failf(path+"."+key, "has no effect: it is for an embedded store only")
			}
		}
		f("sync", s.DynamoDB.Sync != usual.Sync)
		f("stream_shards", s.DynamoDB.StreamShards != usual.StreamShards)
		f("stream_shard_life", s.DynamoDB.StreamShardLife != usual.StreamShardLife)
		f("namespaces", s.DynamoDB.Namespaces == "key")
		return
	}
	var usual Common
	setDefaults(reflect.ValueOf(&usual).Elem(), "")
	f := func(key string, changed bool) {
		if changed {
			k.failf(path+"."+key, "has no effect: an embedded store needs no network")
		}
	}
	f("origin_timeout", s.OriginTimeout != usual.OriginTimeout)
	f("retry", s.Retry != usual.Retry)
	f("breaker", s.Breaker != usual.Breaker)
	f("concurrency", s.Concurrency != usual.Concurrency)
	f("underscores_in_headers", s.UnderscoresInHeaders)
	var store DynamoDB
	setDefaults(reflect.ValueOf(&store).Elem(), "")
	if s.DynamoDB.Origin == embeddedMemory && s.DynamoDB.Sync != store.Sync {
		k.failf(path+".sync", "has no effect: the store is in memory")
	}
	if s.DynamoDB.Settle != store.Settle {
		k.failf(path+".settle", "has no effect: an embedded store has no replicas that lag")
	}
}

// regionOf returns the region of an origin in AWS, or "" for other origins.
func regionOf(origin Origin) string {
	if origin.Embedded() {
		return "us-east-1"
	}
	u, err := url.Parse(string(origin))
	if err != nil {
		return ""
	}
	if m := awsHost().FindStringSubmatch(u.Hostname()); m != nil {
		return m[1]
	}
	return ""
}

func (k *checker) auth(path string, s *Service) {
	a := &s.DynamoDB.Auth
	switch a.Mode {
	case "none":
		exposed := !s.Listen.Loopback() && (s.TLS == nil || s.TLS.ClientCA == "")
		if exposed && !a.Insecure && s.Listen != "" {
			k.failf(path+".mode", "refused: %s is reachable from other machines, which would have all permissions of Kasoku's own credentials; "+
				"give keys and mode sigv4, listen on loopback, require client certificates with tls.client_ca, or set insecure: true", s.Listen)
		}
		if len(a.Keys) > 0 {
			k.failf(path+".keys", "have no effect with mode none")
		}
	default:
		if len(a.Keys) == 0 && a.Mode == "sigv4" {
			k.failf(path, "no keys: every request would be refused; add keys: [{id: ..., secret_env: ...}], or mode none for a listener on loopback")
		}
		if a.Insecure {
			k.failf(path+".insecure", "has no effect without mode none")
		}
	}
	seen := map[string]int{}
	for i := range a.Keys {
		k.key(fmt.Sprintf("%s.keys[%d]", path, i), &a.Keys[i])
		if first, ok := seen[a.Keys[i].ID]; ok && a.Keys[i].ID != "" {
			k.failf(fmt.Sprintf("%s.keys[%d].id", path, i), "%q is already keys[%d]", a.Keys[i].ID, first)
		} else {
			seen[a.Keys[i].ID] = i
		}
	}
}

func (k *checker) key(path string, key *Key) {
	key.secret = k.secret(path, "secret", key.SecretEnv, key.SecretFile)
	if key.SecretEnv == "" && key.SecretFile == "" {
		k.failf(path, `lacks a secret: name an environment variable in secret_env or a file in secret_file`)
	}
	if strings.ContainsAny(key.ID, "/ ,=\t") {
		k.failf(path+".id", "%q can't be an access key's id", key.ID)
	}
	k.patterns(path+".tables", key.Tables)
	if len(key.Tables) == 0 {
		k.failf(path+".tables", "no table: the key could do nothing")
	}
	if len(key.Allow) == 0 {
		k.failf(path+".allow", "nothing is allowed: the key could do nothing")
	}
}

func (k *checker) patterns(path string, list []string) {
	for i, p := range list {
		k.pattern(fmt.Sprintf("%s[%d]", path, i), p)
	}
}

var tablePattern = lazyregexp.New(`^[A-Za-z0-9_.*?-]{1,255}$`)

func (k *checker) pattern(path, p string) {
	if !tablePattern().MatchString(p) {
		k.failf(path, "%q matches no table: names are letters, digits, _ . and -, * matches any text and ? one letter", p)
	}
}

// memory reports memory caps that leave nothing for the services without one.
func (k *checker) memory() {
	whole, sum := k.config.Cache.Limit(), Size(0)
	for i := range k.config.Services {
		s := &k.config.Services[i]
		if sum += s.Memory; s.Memory > 0 && sum >= whole {
			k.failf(join("services", s.Name)+".memory", "the caps of the services up to here, %s, must leave something of cache.memory, %s", sum, whole)
		}
	}
}

// disk reports a disk that no service uses, and one with bounds that don't fit.
func (k *checker) disk() {
	d := k.config.Cache.Disk
	if d == nil {
		return
	}
	if d.MaxObject > d.Size {
		k.failf("cache.disk.max_object", "%s is above size, %s", d.MaxObject, d.Size)
	}
	if longest := d.Longest(); d.Threshold >= longest && d.MaxObject <= d.Size {
		k.failf("cache.disk", "threshold %s is not below the maximum size of a body on disk, %s", d.Threshold, longest)
	}
	used := false
	for i := range k.config.Services {
		s := &k.config.Services[i]
		used = used || s.HTTP != nil
		if s.DynamoDB != nil && s.DynamoDB.Origin.Dir() != "" && d.Path != "" &&
			k.config.Resolve(s.DynamoDB.Origin.Dir()) == k.config.Resolve(d.Path) {
			k.failf("cache.disk.path", "is the store of service %s", s.Name)
		}
	}
	if !used && len(k.config.Services) > 0 {
		k.failf("cache.disk", "has no effect without a service of type http")
	}
}

// stores reports services that share an embedded store: each would cache items that the
// other changes.
func (k *checker) stores() {
	owner := map[string]string{}
	for i := range k.config.Services {
		s := &k.config.Services[i]
		if s.DynamoDB == nil || s.DynamoDB.Origin.Dir() == "" {
			continue
		}
		dir := k.config.Resolve(s.DynamoDB.Origin.Dir())
		if first, ok := owner[dir]; ok {
			k.failf(join("services", s.Name)+".origin", "is the store of service %s; a store belongs to one service, because its cache must see all writes", first)
			continue
		}
		owner[dir] = s.Name
	}
}

// listeners reports addresses that are used twice.
func (k *checker) listeners() {
	type listener struct {
		path string
		addr Address
	}
	list := []listener{{"admin.listen", k.config.Admin.Listen}}
	if c := k.config.Cluster; c != nil && c.NATS == "" {
		list = append(list, listener{"cluster.listen", c.Listen})
	}
	for i := range k.config.Services {
		s := &k.config.Services[i]
		list = append(list, listener{join("services", s.Name) + ".listen", s.Listen})
		if s.DynamoDB != nil && s.DynamoDB.DAX != nil {
			list = append(list, listener{k.daxPath(join("services", s.Name) + ".dax"), s.DynamoDB.DAX.Listen})
		}
		if s.DynamoDB != nil && URL(s.DynamoDB.Origin).reaches(s.Listen) {
			k.failf(join("services", s.Name)+".origin", "%s is this service's own listener: each request would return to it for ever", s.DynamoDB.Origin)
		}
	}
	for i, l := range list {
		j := slices.IndexFunc(list[:i], func(o listener) bool { return o.addr.overlaps(l.addr) })
		if j < 0 {
			continue
		}
		if _, given := k.places[l.path]; !given {
			l, list[j] = list[j], l
		}
		k.failf(l.path, "%s is already taken by %s (%s)", l.addr, list[j].path, list[j].addr)
	}
}
