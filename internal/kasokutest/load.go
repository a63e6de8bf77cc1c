package kasokutest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/creation"
)

// maxLine is the maximum length of a line with an item.
const maxLine = 8 << 20

// Load creates the tables and stores the items that the files in the root of fsys hold, for
// example those of an embed.FS or of os.DirFS("testdata"):
//
//	orders.json         a table: the output of DescribeTable, or the input of CreateTable
//	orders.items.json   its items in DynamoDB JSON, one a line: {"Item":{...}} or {...}
//	orders.items.jsonl  the same
//
// These are files that `kasoku store dump` writes and `kasoku store load` reads. Other files are
// ignored. A table that exists is an error.
func (s *Store) Load(fsys fs.FS) error {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return fmt.Errorf("kasokutest: %w", err)
	}
	var items []string
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir():
		case itemsOf(name) != "":
			items = append(items, name)
		case path.Ext(name) == ".json":
			if err := s.loadTable(fsys, name); err != nil {
				return fmt.Errorf("kasokutest: %s: %w", name, err)
			}
		}
	}
	for _, name := range items {
		if err := s.loadItems(fsys, name); err != nil {
			return fmt.Errorf("kasokutest: %s:%w", name, err)
		}
	}
	return nil
}

// itemsOf returns the table whose items a file has, empty if it has none.
func itemsOf(name string) string {
	for _, ending := range []string{".items.json", ".items.jsonl"} {
		if table, ok := strings.CutSuffix(name, ending); ok {
			return table
		}
	}
	return ""
}

func (s *Store) loadTable(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	var d struct{ Table, TableDescription json.RawMessage }
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	description := json.RawMessage(text)
	for _, inner := range []json.RawMessage{d.Table, d.TableDescription} {
		if inner != nil {
			description = inner
		}
	}
	request, err := creation.Request(description)
	if err != nil {
		return err
	}
	return s.execute("CreateTable", request)
}

// loadItems stores the items of a file. Its errors begin with the number of the line.
func (s *Store) loadItems(fsys fs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := s.loadItem(itemsOf(name), line); err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%d: %w", n+1, err)
	}
	return nil
}

func (s *Store) loadItem(table string, line []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return err
	}
	item := json.RawMessage(line)
	if inner := members["Item"]; len(members) == 1 && inner != nil {
		item = inner
	}
	request, err := json.Marshal(map[string]any{"TableName": table, "Item": item})
	if err != nil {
		return err
	}
	return s.execute("PutItem", request)
}

// execute sends a request that must succeed.
func (s *Store) execute(operation string, request []byte) error {
	status, answer, err := s.Do(operation, request)
	if err == nil && status != http.StatusOK {
		var fault struct{ Message string }
		if json.Unmarshal(answer, &fault) != nil || fault.Message == "" {
			fault.Message = string(answer)
		}
		err = errors.New(fault.Message)
	}
	return err
}
