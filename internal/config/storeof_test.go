package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestReadStores(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	f := func(text, want string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := ReadStores(file, environment)
		got := fmt.Sprint(list)
		if err != nil {
			got = filepath.Base(err.Error())
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("services: {a: {type: dynamodb, listen: ':8000', origin: 'embedded:d'}}", "[{a http://127.0.0.1:8000 us-east-1}]")
	f("services: {a: {type: dynamodb, listen: '127.0.0.1:0', region: r}}", "[{a  r}]")
	f("services: {a: {type: dynamodb, listen: 'unix:/s', origin: 'https://dynamodb.eu-west-1.amazonaws.com'}}", "[{a unix:/s eu-west-1}]")
	f("services: {a: {type: dynamodb, listen: '[::1]:1', tls: {cert: missing.pem}}}", "[{a https://[::1]:1 }]")
	f("services: {a: {type: http, listen: ':80'}, b: {wrong: true}}", "[]")
	f("services: [", "kasoku.yaml:1:11: YAML syntax: sequence end token ']' not found")
}
