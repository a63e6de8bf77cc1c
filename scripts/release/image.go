package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user and the group of containers, by the number that images without a root
// user have in common.
const imageUser = 65532

// imageData is the working directory of containers, a volume.
const imageData = "/data"

// imageFile is a file or, if its name ends in a slash, a directory of the image.
type imageFile struct {
	name string
	mode int64
	uid  int
	data []byte
}

// imageFiles returns the only layer's files, in the order of their names.
func imageFiles(binary []byte, common []file) []imageFile {
	account := fmt.Sprintf("kasoku:x:%d:%d:Kasoku:%s:/sbin/nologin\n", imageUser, imageUser, imageData)
	list := []imageFile{
		{"data/", 0o750, imageUser, nil},
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nkasoku:x:%d:\n", imageUser)},
		{"etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/:/sbin/nologin\n" + account)},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/kasoku", 0o755, 0, binary},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/kasoku/", 0o755, 0, nil},
	}
	for _, f := range common {
		if f.name == "LICENSE" || f.name == noticesFile {
			list = append(list, imageFile{"usr/share/doc/kasoku/" + f.name, 0o644, 0, f.data})
		}
	}
	slices.SortFunc(list, func(a, b imageFile) int { return strings.Compare(a.name, b.name) })
	return list
}

// authorities returns the certificates of the authorities that Mozilla trusts without a
// condition, as PEM. Their data is under the Mozilla Public License 2.0.
func authorities() []byte {
	var b bytes.Buffer
	b.WriteString("# The certificates of Mozilla's root store, from golang.org/x/crypto/x509roots. MPL-2.0.\n")
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer has no errors
		}
	}
	return b.Bytes()
}

// layerOf returns a layer with the files.
func layerOf(list []imageFile, modified time.Time, media types.MediaType) (v1.Layer, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)),
			Uid: f.uid, Gid: f.uid, ModTime: modified,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(media), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}

// image returns the image for a target: in Docker's format, or in that of the OCI.
func (r *release) image(t target, binary []byte, common []file, oci bool) (v1.Image, error) {
	manifest, config, layerType := types.DockerManifestSchema2, types.DockerConfigJSON, types.DockerLayer
	if oci {
		manifest, config, layerType = types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer
	}
	layer, err := layerOf(imageFiles(binary, common), r.time, layerType)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, manifest), config)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: layerType, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "make release", Comment: "kasoku " + r.version,
	}})
	if err != nil {
		return nil, err
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.Created, cf.OS, cf.Architecture = v1.Time{Time: r.time}, t.os, t.arch
	cf.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", imageUser, imageUser),
		Env:          []string{"PATH=/usr/bin", "HOME=" + imageData},
		Entrypoint:   []string{"/usr/bin/kasoku"},
		Cmd:          []string{"serve"},
		WorkingDir:   imageData,
		Volumes:      map[string]struct{}{imageData: {}},
		ExposedPorts: map[string]struct{}{"8000/tcp": {}, "8111/tcp": {}, "9090/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/kasoku", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second,
			StartPeriod: 5 * time.Second, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "kasoku",
			"org.opencontainers.image.description": "Caching accelerator in front of NoSQL-backed HTTP APIs",
			"org.opencontainers.image.source":      "https://github.com/kasoku/kasoku",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.revision":    r.commit,
			"org.opencontainers.image.created":     r.time.Format(time.RFC3339),
		},
	}
	return mutate.ConfigFile(img, cf)
}

// writeImages writes the images for all targets that are Linux: an archive that docker load takes
// for each, and one OCI layout for all.
func (r *release) writeImages(work, out string, binaries map[target]string, common []file) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, t := range []target{{"linux", "amd64"}, {"linux", "arm64"}} {
		path, ok := binaries[t]
		if !ok {
			continue
		}
		found = true
		binary, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docker, err := r.image(t, binary, common, false)
		if err != nil {
			return err
		}
		tag, err := name.NewTag("kasoku:" + strings.ReplaceAll(r.version, "+", "_"))
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(filepath.Join(out, r.artifact(t)+"_docker.tar"), tag, docker); err != nil {
			return err
		}
		oci, err := r.image(t, binary, common, true)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: oci, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: t.os, Architecture: t.arch},
		}})
	}
	if !found {
		return nil
	}
	dir := filepath.Join(work, "oci")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	return tarDirectory(filepath.Join(out, "kasoku_"+r.version+"_oci.tar"), dir, r.time)
}

// tarDirectory writes the files below dir into an archive.
func tarDirectory(path, dir string, modified time.Time) error {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		files = append(files, file{name: filepath.ToSlash(relative), mode: 0o644, data: data})
		return err
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := writeTar(&b, "", files, modified); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
