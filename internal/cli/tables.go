package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/transfer/creation"
)

// createTables creates the tables that files describe in the embedded store of the built-in
// configuration, unless they exist.
func (n *Node) createTables(files []string) error {
	if len(files) == 0 {
		return nil
	}
	for _, st := range n.embeddedStores() { // one
		a := st.(*storeAdmin)
		// Clients may have asked for the tables already.
		err := a.service.Replace(n.hard, func() error { return createEach(a.store, files) })
		if err != nil {
			return err
		}
	}
	return nil
}

func createEach(store *embedded.Store, files []string) error {
	for _, file := range files {
		if err := createTable(store, file); err != nil {
			return fmt.Errorf("--schema %s: %w", file, err)
		}
	}
	return nil
}

func createTable(store *embedded.Store, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	description := json.RawMessage(text)
	var outer struct{ Table json.RawMessage }
	if err := json.Unmarshal(text, &outer); err != nil {
		return err
	}
	if outer.Table != nil {
		description = outer.Table
	}
	request, err := creation.Request(description)
	if err != nil {
		return err
	}
	a, err := store.Do(&embedded.Request{Method: http.MethodPost, Path: "/", Target: []byte("DynamoDB_20120810.CreateTable"), Body: request})
	if err != nil || a.Status == http.StatusOK {
		return err
	}
	var fault struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(a.Body, &fault); err != nil {
		return err
	}
	if strings.HasSuffix(fault.Type, "#ResourceInUseException") {
		return nil
	}
	return errors.New(fault.Message)
}
