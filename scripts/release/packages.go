package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the formats that nfpm.Get returns
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// formats are the formats of packages for Linux.
var formats = []string{"deb", "rpm", "apk"}

// writePackages writes the packages of all formats for a target that is Linux.
func (r *release) writePackages(work, out string, t target, binary string, common []file) error {
	if t.os != "linux" {
		return nil
	}
	for _, format := range formats {
		// nfpm changes the description that it is given.
		info, err := r.packageInfo(filepath.Join(work, "packages"), t, binary, common, format)
		if err != nil {
			return err
		}
		if err := writePackage(out, format, info); err != nil {
			return fmt.Errorf("%s for %s: %w", format, t, err)
		}
	}
	return nil
}

func writePackage(out, format string, info *nfpm.Info) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	// GitHub replaces ~ in the names of files.
	name := strings.ReplaceAll(packager.ConventionalFileName(info), "~", "-")
	return os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644)
}

// completionPaths returns where the completions of a format are installed.
func completionPaths(format string) map[string]string {
	zsh := "/usr/share/zsh/site-functions/_kasoku"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_kasoku"
	}
	return map[string]string{
		bashFile: "/usr/share/bash-completion/completions/kasoku",
		zshFile:  zsh,
		fishFile: "/usr/share/fish/vendor_completions.d/kasoku.fish",
	}
}

// packageInfo returns the description of a package. Its files are written below work.
func (r *release) packageInfo(work string, t target, binary string, common []file, format string) (*nfpm.Info, error) {
	scripts, err := r.scripts(work)
	if err != nil {
		return nil, err
	}
	configs := filepath.Join(r.packaging, "linux")
	var contents files.Contents
	add := func(source, path, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{
			Source: source, Destination: path, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time},
		})
	}
	add(binary, "/usr/bin/kasoku", "", 0o755)
	add(filepath.Join(configs, "kasoku.yaml"), "/etc/kasoku/kasoku.yaml", files.TypeConfigNoReplace, 0o644)
	if format != "apk" { // Alpine has no systemd
		add(filepath.Join(configs, "kasoku.service"), "/usr/lib/systemd/system/kasoku.service", "", 0o644)
	}
	paths := completionPaths(format)
	for _, f := range common {
		path, data := paths[f.name], f.data
		switch {
		case f.name == manFile:
			path = "/usr/share/man/man1/kasoku.1.gz"
			if data, err = gzipped(data); err != nil {
				return nil, err
			}
		case path == "":
			path = "/usr/share/doc/kasoku/" + f.name
		}
		source := filepath.Join(work, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(source, data, 0o644); err != nil {
			return nil, err
		}
		add(source, path, "", 0o644)
	}
	version := r.version
	if format == "apk" {
		version = strings.Replace(version, "-dev", "-alpha", 1) // apk has a fixed list of suffixes
	}
	info := &nfpm.Info{
		Name: "kasoku", Arch: t.arch, Version: version, Release: "1", Section: "net", Priority: "optional", MTime: r.time,
		Maintainer: "The Kasoku authors", Homepage: "https://github.com/kasoku/kasoku", License: "Apache-2.0",
		Description: "Caching accelerator in front of NoSQL-backed HTTP APIs\n" +
			"It serves DynamoDB, DAX, CouchDB, memcached and HTTP from a coherent cache,\nand has a DynamoDB-compatible store of its own.",
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents, Recommends: []string{"ca-certificates"}, Umask: 0o022,
			Scripts: nfpm.Scripts{
				PostInstall: scripts["postinstall.sh"],
				PreRemove:   scripts["preremove.sh"],
				PostRemove:  scripts["postremove.sh"],
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Caching accelerator in front of NoSQL-backed HTTP APIs", Compression: "gzip"},
			Deb: nfpm.Deb{Compression: "gzip"},
			APK: nfpm.APK{Scripts: nfpm.APKScripts{PostUpgrade: scripts["postinstall.sh"]}},
		},
	}
	return nfpm.WithDefaults(info), nil
}

// scripts copies the scripts of packages to work, with the time of the commit, which nfpm writes
// into packages for Alpine. It returns the copies by name.
func (r *release) scripts(work string) (map[string]string, error) {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	copies := map[string]string{}
	for _, name := range []string{"postinstall.sh", "preremove.sh", "postremove.sh"} {
		text, err := os.ReadFile(filepath.Join(r.packaging, "linux", name))
		if err != nil {
			return nil, err
		}
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, text, 0o755); err != nil {
			return nil, err
		}
		if err := os.Chtimes(path, r.time, r.time); err != nil {
			return nil, err
		}
		copies[name] = path
	}
	return copies, nil
}

// gzipped compresses data, without a name or a time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
