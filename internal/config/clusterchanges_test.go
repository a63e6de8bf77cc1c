package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClusterChanges(t *testing.T) {
	dir := directory(t)
	parse := func(text string) *Config {
		t.Helper()
		c, err := Parse(filepath.Join(dir, "k.yaml"), []byte(text), environment)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const usual = "cluster: {name: a}\n" + clustered
	const bucket = "cluster: {name: a, node: x, view: {nodes: [x, y, z], directory: d}}\n" + site
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"none":                           {usual, usual, nil},
		"no cluster":                     {clustered, clustered, nil},
		"another setting":                {usual, "cache: {memory: 2MiB}\n" + strings.Replace(usual, "8000", "8009", 1), nil},
		"added":                          {clustered, usual, []string{"cluster"}},
		"removed":                        {usual, clustered, []string{"cluster"}},
		"default given":                  {usual, "cluster: {name: a, lease: 1.5s, view: {table: kasoku-cluster, service: orders}}\n" + clustered, nil},
		"several":                        {usual, "cluster: {name: b, node: n, listen: \"127.0.0.1:1\", lease: 1s, isolated_writes: pass, join: [localhost]}\n" + clustered, []string{"cluster.name", "cluster.node", "cluster.listen", "cluster.join", "cluster.lease", "cluster.isolated_writes"}},
		"advertise, zone":                {usual, "cluster: {name: a, advertise: localhost, zone: z}\n" + clustered, []string{"cluster.advertise", "cluster.zone"}},
		"warming":                        {usual, "cluster: {name: a, warm: {keys: 1}}\n" + clustered, []string{"cluster.warm"}},
		"table":                          {usual, "cluster: {name: a, view: {table: other}}\n" + clustered, []string{"cluster.view"}},
		"to a bucket":                    {usual, "cluster: {name: a, view: {bucket: b, nodes: [x, y, z]}}\n" + clustered, []string{"cluster.view"}},
		"bucket given":                   {bucket, strings.Replace(bucket, "directory: d", "directory: ./d, bucket: kasoku-a, replicas: 3", 1), nil},
		"another bucket":                 {bucket, strings.Replace(bucket, "directory: d", "directory: d, bucket: b", 1), []string{"cluster.view"}},
		"other nodes":                    {bucket, strings.Replace(bucket, "[x, y, z]", "[x, y, w]", 1), []string{"cluster.view"}},
		"another directory":              {bucket, strings.Replace(bucket, "directory: d", "directory: e", 1), []string{"cluster.view"}},
		"table in the place of a bucket": {bucket, "cluster: {name: a, node: x}\n" + clustered, []string{"cluster.view"}},
		"witness":                        {bucket, strings.Replace(bucket[:strings.Index(bucket, "services")], "node: x", "node: x, witness: true", 1), []string{"cluster.witness"}},
		"TLS added":                      {usual, "cluster: {name: a, tls: {cert: cert.pem, key: key.pem, ca: cert.pem}}\n" + clustered, []string{"cluster.tls"}},
		"TLS, another path":              {"cluster: {name: a, tls: {cert: cert.pem, key: key.pem, ca: cert.pem}}\n" + clustered, "cluster: {name: a, tls: {cert: ./cert.pem, key: " + dir + "/key.pem, ca: cert.pem}}\n" + clustered, nil},
		"another origin":                 {usual, strings.Replace(usual, "8001", "8009", 1), []string{"cluster.view.service"}},
		"another region":                 {usual, strings.Replace(usual, "local,", "eu-west-1,", 1), []string{"cluster.view.service"}},
		"another service":                {"cluster: {name: a, view: {service: orders}}\n" + clustered + second, "cluster: {name: a, view: {service: users}}\n" + clustered + second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ClusterChanges(parse(c.before), parse(c.after)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
