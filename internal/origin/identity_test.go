package origin

import "testing"

func TestIdentity(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Identity(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f("https://dynamodb.eu-west-1.amazonaws.com", "https://dynamodb.eu-west-1.amazonaws.com:443")
	f("HTTPS://DynamoDB.eu-west-1.amazonaws.com.:443/", "https://dynamodb.eu-west-1.amazonaws.com:443")
	f("http://127.0.0.1:8001", "http://127.0.0.1:8001")
	f("http://localhost", "http://localhost:80")
	f("http://localhost:443", "http://localhost:443")
	f("http://[0:0:0:0:0:0:0:1]:8001", "http://[::1]:8001")
	f("http://[::1]:8001/", "http://[::1]:8001")
	f("http://localhost/Path/", "http://localhost:80/Path")
	f("unix:///run/store.sock", "unix:///run/store.sock")
	f("embedded:./data", "embedded:./data")
}
