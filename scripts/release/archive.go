package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// file is a file of an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// writeArchive writes the archive for t: kasoku_VERSION_OS_ARCH.tar.gz, or .zip for Windows. All
// files in it are below a directory of that name.
func (r *release) writeArchive(out string, t target, binary string, common []file) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	name := r.artifact(t)
	pack, suffix := tarGzip, ".tar.gz"
	if t.os == "windows" {
		pack, suffix = zipped, ".zip"
	}
	files := append(slices.Clone(common), file{name: t.program(), mode: 0o755, data: data})
	archive, err := pack(name, files, r.time)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+suffix), archive, 0o644)
}

// artifact returns the name, without a suffix, of the files for t.
func (r *release) artifact(t target) string {
	return "kasoku_" + r.version + "_" + t.os + "_" + t.arch
}

// sorted returns the files by name.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// tarGzip returns a compressed tar archive with the files below dir, owned by root and modified
// at the given time.
func tarGzip(dir string, files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, dir+"/", files, modified); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeTar writes a tar archive. The names of all files begin with prefix.
func writeTar(w io.Writer, prefix string, files []file, modified time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range sorted(files) {
		h := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: prefix + f.name, Size: int64(len(f.data)), Mode: int64(f.mode),
			ModTime: modified, Uname: "root", Gname: "root",
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// zipped returns a zip archive with the files below dir, modified at the given time.
func zipped(dir string, files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: modified}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
