package local

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// removedSuffix marks a namespace's directory that is being removed.
const removedSuffix = ".removed"

// path returns the directory of a namespace, empty in memory.
func (n *Namespaces) path(name Namespace) string {
	if n.cfg.Dir == "" {
		return ""
	}
	return filepath.Join(n.cfg.Dir, name.directory())
}

// listDirectories returns the namespaces that have a directory in dir. It completes removals that
// a crash has interrupted.
func listDirectories(dir string, log *slog.Logger) (names []Namespace, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	for _, entry := range entries {
		whole := filepath.Join(dir, entry.Name())
		base, removed := strings.CutSuffix(entry.Name(), removedSuffix)
		name, ok := parseDirectory(base)
		switch {
		case !ok || !entry.IsDir():
			log.Warn("embedded store: not the directory of a namespace; it is ignored", "path", whole)
		case !removed:
			names = append(names, name)
		default:
			if err := os.RemoveAll(whole); err != nil {
				return nil, fmt.Errorf("remove a namespace: %w", err)
			}
		}
	}
	return names, nil
}

// removeDirectory removes the directory of a namespace. It is renamed first, so that a crash does
// not leave part of a store.
func removeDirectory(dir string) error {
	removed := dir + removedSuffix
	if err := os.RemoveAll(removed); err != nil {
		return fmt.Errorf("remove a namespace: %w", err)
	}
	if err := os.Rename(dir, removed); err != nil {
		return fmt.Errorf("remove a namespace: %w", err)
	}
	if err := os.RemoveAll(removed); err != nil {
		return fmt.Errorf("remove a namespace: %w", err)
	}
	return nil
}
