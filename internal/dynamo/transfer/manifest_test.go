package transfer

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// extract writes the files of an archive in testdata below a directory. Data files are
// compressed, and manifest-files.json and the checksums are made from them.
func extract(t testing.TB, archive, directory string) {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		write(t, directory, f.Name, string(f.Data))
	}
	for _, f := range a.Files {
		if !strings.HasSuffix(f.Name, summaryName+".json") {
			continue
		}
		export := strings.TrimSuffix(f.Name, summaryName+".json")
		var s summary
		if err := json.Unmarshal(f.Data, &s); err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for _, data := range a.Files {
			ending := map[string]string{"DYNAMODB_JSON": ".json.gz", "ION": ".ion.gz"}[s.OutputFormat]
			if !strings.HasSuffix(data.Name, ending) {
				continue
			}
			content, err := os.ReadFile(filepath.Join(directory, data.Name))
			if err != nil {
				t.Fatal(err)
			}
			sum := md5.Sum(content)
			prefix := strings.TrimSuffix(s.ManifestFilesS3Key, export+filesName+".json")
			line, err := json.Marshal(manifestFile{int64(strings.Count(string(data.Data), "\n")), base64.StdEncoding.EncodeToString(sum[:]), etagOf(sum[:]), prefix + data.Name})
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(line)
			lines.WriteByte('\n')
		}
		write(t, directory, export+filesName+".json", lines.String())
		for name, text := range map[string]string{filesName: lines.String(), summaryName: string(f.Data)} {
			sum := md5.Sum([]byte(text))
			write(t, directory, export+name+".md5", base64.StdEncoding.EncodeToString(sum[:]))
		}
	}
}

const exportID = "AWSDynamoDB/01604474914028-a1b2c3d4/"

// Damage and missing files are found before any item of the file is written.
func TestDamagedExports(t *testing.T) {
	f := func(want string, damage func(directory string)) {
		t.Helper()
		directory := t.TempDir()
		extract(t, "full.txtar", directory)
		damage(directory)
		s := newServer(t)
		_, err := Load(t.Context(), s.config(), []string{directory})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if n := s.count("BatchWriteItem"); n > 0 && !strings.Contains(want, "records") { // they are counted while they are read
			t.Errorf("%s: %d batches were written", want, n)
		}
	}
	edit := func(name, old, new string) func(string) {
		return func(directory string) {
			path := filepath.Join(directory, exportID+name)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), old) {
				t.Fatalf("%s has no %q: %v", name, old, err)
			}
			write(t, directory, exportID+name, strings.Replace(string(text), old, new, 1))
			os.Remove(strings.TrimSuffix(path, ".json") + ".md5")
		}
	}
	remove := func(name string) func(string) {
		return func(directory string) {
			if err := os.Remove(filepath.Join(directory, exportID+name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const data = "data/bafybeiczss3yxay3o4abnabbb.json.gz"
	f("the export is not complete: there is no manifest-summary.json", remove("manifest-summary.json"))
	f("manifest-files.json: no such file", remove("manifest-files.json"))
	f("manifest-files.json:1: the data file 2020-Nov/"+exportID+data+" is missing", remove(data))
	f("bafybeiczss3yxay3o4abnabbb.json.gz: is damaged: its MD5 checksum is not that of the manifest", func(directory string) {
		write(t, directory, exportID+data, "{}\n")
	})
	f("manifest-summary.json: is damaged: its MD5 checksum is not that of manifest-summary.md5", func(directory string) {
		write(t, directory, exportID+"manifest-summary.md5", "AAAA")
	})
	f("manifest-files.json: is damaged: its MD5 checksum is not that of manifest-files.checksum", func(directory string) {
		write(t, directory, exportID+"manifest-files.checksum", "AAAA")
	})
	f("manifest-summary.json: is no manifest of an export", edit("manifest-summary.json", `"itemCount":2`, `"itemCount":"x"`))
	f(`the output format "PARQUET" is neither`, edit("manifest-summary.json", `"DYNAMODB_JSON"`, `"PARQUET"`))
	f(`names no table`, edit("manifest-summary.json", `"tableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/`, `"tableArn":"`))
	f("the data files have 2 items, and the export has 3: a line is missing", edit("manifest-summary.json", `"itemCount":2`, `"itemCount":3`))
	f("manifest-files.json:1: is no line about a data file", edit("manifest-files.json", `"dataFileS3Key"`, `"key"`))
	f("is no path below the export", edit("manifest-files.json", "2020-Nov/"+exportID+"data/", "../../"))
	f("has 2 records, and the manifest 1", func(directory string) {
		edit("manifest-files.json", `"itemCount":2`, `"itemCount":1`)(directory)
		edit("manifest-summary.json", `"itemCount":2`, `"itemCount":1`)(directory)
	})
	// Without a checksum, the ETag is one.
	f("is damaged: its ETag is not that of the manifest", func(directory string) {
		edit("manifest-files.json", `"md5Checksum":"`, `"md5Checksum":"","x":"`)(directory)
		edit("manifest-files.json", `"etag":"`, `"etag":"0`)(directory)
	})
}

// FuzzManifests checks that no manifest makes the reader leave the export's directory.
func FuzzManifests(f *testing.F) {
	f.Add([]byte(`{"tableArn":"arn:aws:dynamodb:r:1:table/T","itemCount":0,"outputFormat":"ION"}`), []byte(`{"itemCount":0,"dataFileS3Key":"AWSDynamoDB/x/data/a.ion.gz"}`))
	f.Fuzz(func(t *testing.T, summaryText, filesText []byte) {
		above := t.TempDir()
		directory := filepath.Join(above, "root", exportRoot, "x")
		write(t, directory, summaryName+".json", string(summaryText))
		write(t, directory, filesName+".json", string(filesText))
		write(t, directory, "data/a.ion.gz", "")
		write(t, above, "secret", "")
		x, err := readExport(directory)
		if err != nil {
			return
		}
		for _, file := range x.files {
			if !strings.HasPrefix(file.path, filepath.Join(above, "root")+string(filepath.Separator)) {
				t.Fatalf("%q leads to %s", filesText, file.path)
			}
		}
	})
}
