package admin

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// ui has the files of the dashboard. They have no figures: the page requests them from the API.
//
//go:embed ui
var ui embed.FS

// uiTypes are the types of the files by their extensions.
var uiTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// contentPolicy lets the page use its own files and the API, and nothing else. No page can contain
// it in a frame.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const uiPage = "/ui/index.html"

// uiFiles returns the dashboard's files by the paths of their URLs.
var uiFiles = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{}
	err := fs.WalkDir(ui, "ui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files["/"+name], err = ui.ReadFile(name)
		return err
	})
	if err != nil {
		panic(err) // they are part of the program
	}
	return files
})

// wantsPage reports whether r is a browser's request for the dashboard.
func wantsPage(r *http.Request) bool {
	return r.URL.Path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// public reports whether r needs no token: a health check, or a file of the dashboard, which asks
// for the token.
func public(r *http.Request) bool {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	_, file := uiFiles()[r.URL.Path]
	return file || wantsPage(r)
}

// dashboard answers with the dashboard's page, and others than browsers with the list of paths.
func (s *Server) dashboard(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !wantsPage(r) {
		s.index(w, r)
		return
	}
	page := uiFiles()[uiPage]
	if s.tokens.Load().all != "" {
		page = bytes.Replace(page, []byte(`name="kasoku-token" content="none"`), []byte(`name="kasoku-token" content="required"`), 1)
	}
	if s.ledger != nil {
		page = bytes.Replace(page, []byte(`name="kasoku-ledger" content="none"`), []byte(`name="kasoku-ledger" content="present"`), 1)
	}
	writeUI(w, uiPage, page)
}

// uiFile answers with a file of the dashboard.
func (s *Server) uiFile(w http.ResponseWriter, r *http.Request) {
	writeUI(w, r.URL.Path, uiFiles()[r.URL.Path])
}

func writeUI(w http.ResponseWriter, name string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", uiTypes[path.Ext(name)])
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(text)
}
