package transfer

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The names of an export's files.
const (
	exportRoot    = "AWSDynamoDB"
	summaryName   = "manifest-summary"
	filesName     = "manifest-files"
	dataDirectory = "data"
)

// checksumEndings are the endings of the names of checksum files: the one that AWS uses, and
// the one in its documentation.
var checksumEndings = []string{".md5", ".checksum"}

// summary is the content of manifest-summary.json, in the order of AWS.
type summary struct {
	Version            string  `json:"version"`
	ExportArn          string  `json:"exportArn"`
	StartTime          string  `json:"startTime"`
	EndTime            string  `json:"endTime"`
	TableArn           string  `json:"tableArn"`
	TableID            string  `json:"tableId"`
	ExportTime         string  `json:"exportTime,omitempty"`
	ExportFromTime     string  `json:"exportFromTime,omitempty"`
	ExportToTime       string  `json:"exportToTime,omitempty"`
	S3Bucket           string  `json:"s3Bucket"`
	S3Prefix           *string `json:"s3Prefix"`
	S3SseAlgorithm     string  `json:"s3SseAlgorithm"`
	S3SseKmsKeyID      *string `json:"s3SseKmsKeyId"`
	ManifestFilesS3Key string  `json:"manifestFilesS3Key"`
	BilledSizeBytes    int64   `json:"billedSizeBytes"`
	ItemCount          int64   `json:"itemCount"`
	OutputFormat       string  `json:"outputFormat"`
	OutputView         string  `json:"outputView,omitempty"`
	ExportType         string  `json:"exportType,omitempty"`
}

// manifestFile is a line of manifest-files.json.
type manifestFile struct {
	ItemCount     int64  `json:"itemCount"`
	MD5Checksum   string `json:"md5Checksum"`
	ETag          string `json:"etag"`
	DataFileS3Key string `json:"dataFileS3Key"`
}

// dataFile is a file of items.
type dataFile struct {
	path      string
	format    format
	table     string
	size      int64
	manifest  *manifestFile // nil for a file outside of exports
	encrypted bool          // its ETag is no checksum
}

// export is an export to S3 that was copied to a directory.
type export struct {
	directory string // with the manifests
	summary   summary
	table     string
	files     []*dataFile
}

// maxManifest is the maximum length of a manifest.
const maxManifest = 256 << 20

// isExport reports whether a directory has an export's manifest.
func isExport(directory string) bool {
	_, err := os.Stat(filepath.Join(directory, summaryName+".json"))
	return err == nil
}

// readExport reads and checks the manifests of an export.
func readExport(directory string) (*export, error) {
	x := &export{directory: directory}
	path, text, err := readManifest(directory, summaryName)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &x.summary); err != nil {
		return nil, fmt.Errorf("%s: is no manifest of an export: %w", path, err)
	}
	formats := map[string]format{"DYNAMODB_JSON": jsonLines, "ION": ionText}
	f, ok := formats[x.summary.OutputFormat]
	if !ok {
		return nil, fmt.Errorf("%s: the output format %.40q is neither DYNAMODB_JSON nor ION", path, x.summary.OutputFormat)
	}
	_, name, ok := strings.Cut(x.summary.TableArn, ":table/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%s: the tableArn %.100q names no table", path, x.summary.TableArn)
	}
	x.table = name
	if path, text, err = readManifest(directory, filesName); err != nil {
		return nil, err
	}
	lines := lineReader{in: bufio.NewReader(bytes.NewReader(text))}
	items := int64(0)
	for {
		line, number, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		var m manifestFile
		if err := json.Unmarshal(line, &m); err != nil || m.DataFileS3Key == "" {
			return nil, fmt.Errorf("%s:%d: is no line about a data file, with dataFileS3Key", path, number)
		}
		file, err := x.find(m.DataFileS3Key)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		items += m.ItemCount
		x.files = append(x.files, &dataFile{path: file, format: f, table: name, manifest: &m, encrypted: x.summary.S3SseAlgorithm == "KMS"})
	}
	if items != x.summary.ItemCount {
		return nil, fmt.Errorf("%s: the data files have %d items, and the export has %d: a line is missing", path, items, x.summary.ItemCount)
	}
	return x, nil
}

// readManifest reads a manifest and compares it with its checksum file, if there is one.
func readManifest(directory, name string) (path string, text []byte, err error) {
	path = filepath.Join(directory, name+".json")
	f, err := os.Open(path)
	if err != nil {
		return path, nil, err
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, maxManifest+1)); err != nil {
		return path, nil, err
	}
	if len(text) > maxManifest {
		return path, nil, fmt.Errorf("%s: has more than %d bytes", path, maxManifest)
	}
	sum := md5.Sum(text)
	for _, ending := range checksumEndings {
		want, err := os.ReadFile(filepath.Join(directory, name+ending))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return path, nil, err
		}
		if got := string(bytes.TrimSpace(want)); got != base64.StdEncoding.EncodeToString(sum[:]) && got != hex.EncodeToString(sum[:]) {
			return path, nil, fmt.Errorf("%s: is damaged: its MD5 checksum is not that of %s", path, name+ending)
		}
	}
	return path, text, nil
}

// find returns the path of a data file. Its key in S3 may begin with a prefix, and ends with
// AWSDynamoDB/<export>/data/<name>, or AWSDynamoDB/data/<name> for incremental exports.
func (x *export) find(key string) (string, error) {
	name := key
	if i := strings.LastIndex("/"+key, "/"+exportRoot+"/"); i >= 0 {
		name = key[i:]
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("the key %.200q is no path below the export", key)
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	above := filepath.Dir(filepath.Dir(x.directory))
	for _, path := range []string{
		filepath.Join(above, filepath.FromSlash(name)),
		filepath.Join(x.directory, dataDirectory, base),
		filepath.Join(filepath.Dir(x.directory), dataDirectory, base),
	} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the data file %.200s is missing", key)
}

// verify compares a data file with the checksum of its manifest. The ETag is one too, unless
// the file was encrypted with a key of its own.
func (f *dataFile) verify() error {
	m := f.manifest
	if m == nil || m.MD5Checksum == "" && (m.ETag == "" || f.encrypted) {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	h := md5.New()
	if _, err := io.Copy(h, in); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	sum := h.Sum(nil)
	if m.MD5Checksum != "" {
		if m.MD5Checksum != base64.StdEncoding.EncodeToString(sum) {
			return fmt.Errorf("%s: is damaged: its MD5 checksum is not that of the manifest", f.path)
		}
		return nil
	}
	if etag := strings.Trim(m.ETag, `"`); etag != hex.EncodeToString(sum) && etag != etagOf(sum) && singlePart(etag) {
		return fmt.Errorf("%s: is damaged: its ETag is not that of the manifest", f.path)
	}
	return nil
}

// etagOf returns the ETag of a file that was uploaded in one part, as exports are.
func etagOf(sum []byte) string {
	parts := md5.Sum(sum)
	return hex.EncodeToString(parts[:]) + "-1"
}

// singlePart reports whether an ETag is that of a file in one part: others depend on the size
// of the parts.
func singlePart(etag string) bool {
	_, parts, multiple := strings.Cut(etag, "-")
	return !multiple || parts == "1"
}
