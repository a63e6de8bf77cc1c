package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tarFile is a file of a tar archive.
type tarFile struct {
	*tar.Header
	text []byte
}

func untarPlain(t *testing.T, archive []byte) (list []tarFile) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tarFile{h, text})
	}
}

// images returns the images of programs that consist of one word, twice, and checks that all
// bytes are equal.
func images(t *testing.T) map[string]string {
	t.Helper()
	r, work := standIn(t), t.TempDir()
	binaries := map[target]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		path := filepath.Join(work, arch)
		if err := os.WriteFile(path, []byte("binary for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
		binaries[target{"linux", arch}] = path
	}
	common := []file{{"LICENSE", 0o644, []byte("terms")}, {noticesFile, 0o644, []byte("notices")}, {"README.md", 0o644, []byte("text")}}
	var outs [2]map[string]string
	for i := range outs {
		out := t.TempDir()
		if err := r.writeImages(t.TempDir(), out, binaries, common); err != nil {
			t.Fatal(err)
		}
		outs[i] = contents(t, out)
	}
	for name := range outs[0] {
		if outs[0][name] != outs[1][name] {
			t.Errorf("%s differs between two runs", name)
		}
	}
	return outs[0]
}

// TestDockerArchive checks the layer and the configuration of the image that docker load takes.
func TestDockerArchive(t *testing.T) {
	files := map[string][]byte{}
	for _, f := range untarPlain(t, []byte(images(t)["kasoku_0.1.0-dev_linux_arm64_docker.tar"])) {
		files[f.Name] = f.text
	}
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || len(manifest[0].Layers) != 1 || !slices.Equal(manifest[0].RepoTags, []string{"kasoku:0.1.0-dev"}) {
		t.Fatalf("the manifest is %+v, want one image with one layer", manifest)
	}
	var config struct {
		Architecture, OS, Created string
		Config                    struct {
			User, WorkingDir, StopSignal string
			Entrypoint, Cmd              []string
			Volumes, ExposedPorts        map[string]struct{}
			Labels                       map[string]string
			Healthcheck                  struct{ Test []string }
		}
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	c := config.Config
	got := fmt.Sprint(config.OS, "/", config.Architecture, " ", config.Created, " ", c.User, " ", c.WorkingDir, " ", c.StopSignal, " ",
		c.Entrypoint, c.Cmd, c.Healthcheck.Test, c.Volumes, c.ExposedPorts)
	const want = "linux/arm64 2026-11-29T18:08:30Z 65532:65532 /data SIGTERM " +
		"[/usr/bin/kasoku] [serve] [CMD /usr/bin/kasoku health] map[/data:{}] map[8000/tcp:{} 8111/tcp:{} 9090/tcp:{}]"
	if got != want {
		t.Errorf("the configuration is\n%s, want\n%s", got, want)
	}
	if c.Labels["org.opencontainers.image.version"] != "0.1.0-dev" || c.Labels["org.opencontainers.image.revision"] != "c0ffee" {
		t.Errorf("the labels are %v", c.Labels)
	}
	z, err := gzip.NewReader(bytes.NewReader(files[manifest[0].Layers[0]]))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	checkLayer(t, untarPlain(t, layer))
}

// checkLayer checks the files of an image, with their modes and owners.
func checkLayer(t *testing.T, files []tarFile) {
	t.Helper()
	var list []string
	for _, f := range files {
		list = append(list, fmt.Sprintf("%s %o %d:%d", f.Name, f.Mode, f.Uid, f.Gid))
		switch f.Name {
		case "usr/bin/kasoku":
			if string(f.text) != "binary for arm64" {
				t.Errorf("the program is %q", f.text)
			}
		case "etc/ssl/certs/ca-certificates.crt":
			checkAuthorities(t, f.text)
		}
	}
	want := []string{
		"data/ 750 65532:65532",
		"etc/ 755 0:0", "etc/group 644 0:0", "etc/passwd 644 0:0",
		"etc/ssl/ 755 0:0", "etc/ssl/certs/ 755 0:0", "etc/ssl/certs/ca-certificates.crt 644 0:0",
		"tmp/ 1777 0:0",
		"usr/ 755 0:0", "usr/bin/ 755 0:0", "usr/bin/kasoku 755 0:0",
		"usr/share/ 755 0:0", "usr/share/doc/ 755 0:0", "usr/share/doc/kasoku/ 755 0:0",
		"usr/share/doc/kasoku/LICENSE 644 0:0", "usr/share/doc/kasoku/THIRD-PARTY-NOTICES 644 0:0",
	}
	if !slices.Equal(list, want) {
		t.Errorf("the layer has\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
}

// checkAuthorities checks that the authorities include the ones of AWS.
func checkAuthorities(t *testing.T, text []byte) {
	t.Helper()
	names := map[string]bool{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		names[c.Subject.CommonName] = true
	}
	for _, name := range []string{"Amazon Root CA 1", "Amazon Root CA 2", "Amazon Root CA 3", "Amazon Root CA 4", "ISRG Root X1"} {
		if !names[name] {
			t.Errorf("%s is missing among %d authorities", name, len(names))
		}
	}
}

// TestOCILayout checks that the layout has an image for each processor.
func TestOCILayout(t *testing.T) {
	files := map[string][]byte{}
	for _, f := range untarPlain(t, []byte(images(t)["kasoku_0.1.0-dev_oci.tar"])) {
		files[f.Name] = f.text
	}
	var index struct {
		MediaType string
		Manifests []struct {
			MediaType, Digest string
			Platform          struct{ OS, Architecture string }
		}
	}
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if len(files["oci-layout"]) == 0 || index.MediaType != "application/vnd.oci.image.index.v1+json" {
		t.Errorf("the layout is %q, its index %q", files["oci-layout"], index.MediaType)
	}
	var got []string
	for _, m := range index.Manifests {
		got = append(got, m.Platform.OS+"/"+m.Platform.Architecture+" "+m.MediaType)
		if len(files["blobs/sha256/"+strings.TrimPrefix(m.Digest, "sha256:")]) == 0 {
			t.Errorf("the manifest %s is missing", m.Digest)
		}
	}
	const manifest = " application/vnd.oci.image.manifest.v1+json"
	if want := []string{"linux/amd64" + manifest, "linux/arm64" + manifest}; !slices.Equal(got, want) {
		t.Errorf("the index has %q, want %q", got, want)
	}
}
