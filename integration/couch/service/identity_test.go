package service

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

func basic(name, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))}
}

// private makes a node with an administrator, the users bob and eve, and a database
// that only bob may read.
func private(t *testing.T) *couch.Node {
	t.Helper()
	n := couch.Disk(t)
	n.Must(t, "PUT", "/private", "")
	n.Must(t, "PUT", "/private/secret", `{"text":"for bob only"}`)
	n.Tweets(t, "private", 10)
	for _, name := range []string{"bob", "eve"} {
		n.Must(t, "PUT", "/_users/org.couchdb.user:"+name, `{"name":"`+name+`","password":"of `+name+`","roles":[],"type":"user"}`)
	}
	n.Must(t, "PUT", "/private/_security", members("bob"))
	n.Must(t, "PUT", "/_config/admins/admin", `"of admin"`)
	return n
}

func members(name string) string {
	return `{"members":{"names":["` + name + `"],"roles":[]},"admins":{"names":[],"roles":[]}}`
}

// TestIdentities checks that a client gets a copy only if the node would send it the
// original, and that changes of permissions take effect at once.
func TestIdentities(t *testing.T) {
	node := private(t)
	kasoku := harness.Start(t, harness.Options{Type: "couchdb", Origin: node.URL,
		Service: []string{"auth: {username: admin, password_env: COUCH_PASSWORD}"}, Env: []string{"COUCH_PASSWORD=of admin"}})
	n := client(kasoku.URL)
	bob, eve, admin := basic("bob", "of bob"), basic("eve", "of eve"), basic("admin", "of admin")
	paths := []string{"/private/secret", "/private/_design/tweets/_view/by_date", "/private/_all_docs", "/private/_design/tweets/_list/html/by_date"}
	for _, path := range paths {
		couch.Await(t, "bob's hit on "+path, func() bool { return hit(n.Must(t, "GET", path, "", bob...)) })
	}
	wantRefused := func(client string, path string, header ...string) {
		t.Helper()
		direct := node.Do(t, "GET", path, "", header...)
		for range 3 {
			got := n.Do(t, "GET", path, "", header...)
			if got.Status != direct.Status || got.Status/100 != 4 || hit(got) || strings.Contains(got.Body, "for bob only") {
				t.Errorf("%s reads %s: %d, %s; the node answers %d", client, path, got.Status, got.Header.Get("Cache-Status"), direct.Status)
			}
		}
	}
	for _, path := range paths {
		wantRefused("anonymous", path)
		wantRefused("eve", path, eve...)
		wantRefused("bob with a wrong password", path, basic("bob", "of eve")...)
		wantRefused("one with a forged cookie", path, "Cookie", "AuthSession=Ym9iOjVBOkZGRkY")
	}
	if got := n.Must(t, "GET", "/private/secret", "", bob...); !hit(got) {
		t.Errorf("bob after the others: %s", got.Header.Get("Cache-Status"))
	}

	session := signIn(t, n, "bob")
	for range 3 {
		n.Must(t, "GET", "/private/secret", "", "Cookie", session)
		if got := n.Must(t, "GET", "/private/secret", "", bob...); got.Header.Get("Set-Cookie") != "" {
			t.Errorf("a session's cookie was sent to another client: %s", got.Header.Get("Set-Cookie"))
		}
	}

	n.Must(t, "PUT", "/private/_security", members("eve"), admin...)
	for _, path := range paths {
		wantRefused("bob, without permission,", path, bob...)
		wantRefused("bob's session", path, "Cookie", session)
		n.Must(t, "GET", path, "", eve...)
	}
}

// signIn returns the cookie of a new session.
func signIn(t *testing.T, n *couch.Node, name string) string {
	t.Helper()
	a := n.Must(t, "POST", "/_session", `{"name":"`+name+`","password":"of `+name+`"}`)
	for _, line := range a.Header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == "AuthSession" {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no session in %v", a.Header)
	return ""
}

// TestRevoked removes a user from the members of a database on two nodes, through Kasoku: after
// that the user gets no answer from a node or from the cache.
func TestRevoked(t *testing.T) {
	a, b := private(t), private(t)
	kasoku := harness.Start(t, harness.Options{Type: "couchdb", Origin: a.URL + ", " + b.URL,
		Service: []string{"auth: {username: admin, password_env: COUCH_PASSWORD}"}, Env: []string{"COUCH_PASSWORD=of admin"}})
	n := client(kasoku.URL)
	bob, eve := basic("bob", "of bob"), basic("eve", "of eve")
	for range 4 {
		n.Must(t, "GET", "/private/secret", "", bob...)
	}
	n.Must(t, "PUT", "/private/_security", members("eve"), basic("admin", "of admin")...)
	for range 20 {
		for _, path := range []string{"/private/secret", "/private/_all_docs", "/private/secret?local_seq=true", "/private"} {
			if got := n.Do(t, "GET", path, "", bob...); got.Status/100 != 4 {
				t.Fatalf("got status %d for %s as bob", got.Status, path)
			}
			n.Must(t, "GET", path, "", eve...)
		}
	}
	for _, node := range []*couch.Node{a, b} {
		if got := node.Do(t, "GET", "/private/secret", "", bob...); got.Status/100 != 4 {
			t.Errorf("got status %d as bob from %s itself", got.Status, node.URL)
		}
	}
}
