package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// keptIndexes are the indexes of the list of runs that its usual questions go by: newest first, by
// id, type, status, parent, schedule, and by the attributes of type keyword, which Switchyard's
// are.
var keptIndexes = []string{"default_idx", "by_workflow_id", "by_workflow_type", "by_status",
	"by_parent_workflow_id",
	"by_root_workflow_id", "by_temporal_scheduled_by_id", "by_keyword_"}

// dropIndexes drops all other indexes of the list of runs. The server's schema has 58, one per
// column, and updates each whenever a run starts, changes its attributes or ends, which took two
// fifths of the time for a short run. Queries by other columns scan the list.
func (db *database) dropIndexes(ctx context.Context) (err error) {
	conn, err := sql.Open(sqlDriver, db.uri())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	names, err := listIndexes(ctx, conn)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(keptIndexes, func(kept string) bool {
			return strings.HasPrefix(name,
				kept)
		}) {
			continue
		}
		if _, err := conn.ExecContext(ctx, `DROP INDEX "`+name+`"`); err != nil {
			return fmt.Errorf("index %s: %w", name, err)
		}
	}
	return nil
}

// listIndexes returns the names of the indexes of the list of runs, but for those that constraints
// bring along.
func listIndexes(ctx context.Context, conn *sql.DB) (names []string, err error) {
	rows, err := conn.QueryContext(ctx,
		"SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?",
		lastTable)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// uri is the store as database/sql opens it, beside the server.
func (db *database) uri() string {
	values := url.Values{}
	for _, key := range []string{"mode", "cache"} {
		if value, ok := db.sql.ConnectAttributes[key]; ok {
			values.Set(key, value)
		}
	}
	return "file:" + db.sql.DatabaseName + "?" + values.Encode()
}
