package httpcache

import (
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	r := NewRoutes([]string{"/api/orders/*", "/api/*", "*.png"})
	for path, want := range map[string]string{
		"/api/orders/7":                      "/api/orders/*",
		"/api/users":                         "/api/*",
		"/api":                               "/api",
		"/img/logo.png":                      "*.png",
		"/":                                  "/",
		"/news/2026/12":                      "/news",
		"//news":                             "/",
		"/index.html":                        "/index.html",
		"":                                   "other",
		"*":                                  "other",
		"/\xff/a":                            "other",
		"/a b":                               "other",
		"/" + strings.Repeat("a", 64):        "other",
		"/" + strings.Repeat("a", 63) + "/b": "/" + strings.Repeat("a", 63),
	} {
		if got := string(r.of([]byte(path))); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
