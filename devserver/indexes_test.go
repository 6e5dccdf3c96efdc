package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// Proves that the list of runs keeps the indexes that are named and no others, in memory and in a
// file, also when the file is opened again; and that each name still stands for one in the server's
// schema.
func TestIndexesOfTheListOfRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	for _, name := range []string{"", file, file} {
		db, err := openDatabase(t.Context(), name, []string{"default"})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, index := range indexesOf(t, db) {
			prefix := ""
			for _, kept := range keptIndexes {
				if strings.HasPrefix(index, kept) {
					prefix = kept
				}
			}
			if prefix == "" {
				t.Errorf("store %q has the index %s", name, index)
			}
			found[prefix]++
		}
		for _, kept := range keptIndexes {
			if found[kept] == 0 {
				t.Errorf("store %q has no index %s", name, kept)
			}
		}
		if err := db.close(); err != nil {
			t.Error(err)
		}
	}
}

func indexesOf(t *testing.T, db *database) []string {
	t.Helper()
	conn, err := sql.Open(sqlDriver, db.uri())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	names, err := listIndexes(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
