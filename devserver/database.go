package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// sqlDriver is the name under which the server's SQLite plugin registers with database/sql.
	sqlDriver = "sqlite"
	// retention is the retention of closed runs. Reports are derived from histories, so it is a
	// month instead of the server's default of a day.
	retention = 30 * 24 * time.Hour
)

// privateFile and privateFolder are the modes of new files and folders.
const (
	privateFile   = 0o600
	privateFolder = 0o700
)

// firstTable and lastTable are the first and the last table of the server's schema. A file with
// only one of them is incomplete.
const firstTable, lastTable = "namespaces", "executions_visibility"

// database is the store of one server: a file that this process alone uses, or memory.
type database struct {
	file string // "" in memory
	lock *flock.Flock
	sql  config.SQL
}

// openDatabase prepares the store: folder, lock, schema and namespaces. Errors name the file and
// what to do: the folder cannot be made, another server uses the file, or the file is something
// else.
func openDatabase(ctx context.Context, filename string, namespaces []string) (*database, error) {
	db := &database{sql: config.SQL{PluginName: sqliteplugin.PluginName}}
	if filename == "" {
		db.sql.DatabaseName = "devserver"
		db.sql.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else if err := db.openFile(filename); err != nil {
		db.unlock()
		return nil, err
	}
	if err := db.createNamespaces(namespaces); err != nil {
		db.unlock()
		return nil, err
	}
	if err := db.dropIndexes(ctx); err != nil {
		db.unlock()
		return nil, fmt.Errorf("cannot drop unused indexes: %w", err)
	}
	return db, nil
}

func (db *database) openFile(filename string) (err error) {
	if err := os.MkdirAll(filepath.Dir(filename), privateFolder); err != nil {
		return fmt.Errorf("--db-filename %s: cannot make the folder: %w", filename, err)
	}
	if db.file, err = realPath(filename); err != nil {
		return fmt.Errorf("--db-filename %s: %w", filename, err)
	}
	if db.lock, err = lockFile(db.file + ".lock"); err != nil {
		return fmt.Errorf("--db-filename %s: %w", filename, err)
	}
	if err := createPrivate(db.file); err != nil {
		return fmt.Errorf("--db-filename %s: %w", filename, err)
	}
	db.sql.DatabaseName = uriPath(db.file)
	db.sql.ConnectAttributes = map[string]string{
		"mode": "rwc",
		// Readers and the writer do not wait for each other, and a commit is one append: twice the
		// calls per second.
		"journal_mode": "wal",
		// Every commit reaches the disk before it is acknowledged. NORMAL is a third faster and may
		// lose the last commits on power loss, which a durable orchestrator must not.
		"synchronous": "full",
	}
	complete, err := db.inspect()
	if err != nil {
		return fmt.Errorf("--db-filename %s: %w", filename, err)
	}
	if complete {
		return nil
	}
	if err := sqlite.SetupSchema(&db.sql); err != nil {
		return fmt.Errorf("--db-filename %s: cannot make the tables: %w", filename, err)
	}
	return nil
}

// createPrivate creates an empty file that only its owner can read, if there is none: the database
// holds the arguments and results of calls. SQLite gives its other files the same mode. An existing
// file keeps its mode.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, privateFile)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// realPath is the absolute path of a file that may not exist yet, without symbolic links, so that
// one file has one lock.
func realPath(filename string) (string, error) {
	path, err := filepath.Abs(filename)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("it is not a file: give the path of a file")
	}
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err
}

// uriPath escapes a path for SQLite, which reads it as a URI.
func uriPath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}

// inspect reports whether the file already is a database of the server. A new or empty file is not.
// Any other content is an error, so that no foreign file is overwritten.
func (db *database) inspect() (complete bool, err error) {
	conn, err := sql.Open(sqlDriver, "file:"+db.sql.DatabaseName+"?mode=rwc")
	if err != nil {
		return false, err
	}
	defer conn.Close()
	rows, err := conn.Query("SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return false, fmt.Errorf(
			"cannot be opened as a SQLite database (%w): check that it is one and writable, or choose another file",
			err)
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return false, err
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil || len(tables) == 0 {
		return false, err
	}
	if !slices.Contains(tables, firstTable) || !slices.Contains(tables, lastTable) {
		return false, errors.New(
			"it is a SQLite database, but not a complete one of this server: choose another file, or remove this one")
	}
	return true, nil
}

// createNamespaces adds the namespaces the store does not have yet, with their search attributes.
// The server would need seconds to see attributes that are added when it runs.
func (db *database) createNamespaces(names []string) error {
	var wanted []*sqlite.NamespaceConfig
	for _, name := range names {
		ns, err := sqlite.NewNamespaceConfig(clusterName, name, false,
			switchyardAttributes())
		if err != nil {
			return fmt.Errorf("namespace %q: %w", name, err)
		}
		ns.Detail.Config.Retention = durationpb.New(retention)
		wanted = append(wanted, ns)
	}
	if err := sqlite.CreateNamespaces(&db.sql, wanted...); err != nil {
		return fmt.Errorf("cannot create the namespaces: %w", err)
	}
	return nil
}

// close writes the write-ahead log into the file, so that the file alone can be copied, and
// releases the lock. It is called when the server has stopped; committed data is safe even if it is
// not called.
func (db *database) close() error {
	if db.lock == nil {
		return nil
	}
	defer db.unlock()
	conn, err := sql.Open(sqlDriver, "file:"+db.sql.DatabaseName+"?mode=rw")
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("cannot bring the write-ahead log into %s: %w", db.file, err)
	}
	return nil
}

func (db *database) unlock() {
	if db.lock != nil {
		db.lock.Close()
	}
}
