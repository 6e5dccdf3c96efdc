// Package recorddb keeps the stream of all runs of a namespace in tables of PostgreSQL.
package recorddb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/switchyard/switchyard/audit"
)

// errReplaced is returned if another process has opened the stream since.
var errReplaced = errors.New("another process writes the stream now")

// errEntry is returned for an entry without JSON.
var errEntry = errors.New("the entry cannot be written as JSON")

// maxPause bounds the pause between two attempts to reach the database.
const maxPause = 5 * time.Second

// Tables are the tables of PostgreSQL, opened for one stream. They are not safe for concurrent use.
type Tables struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
	stream string
	// epoch counts how often the stream was opened. A process with an older one may not write.
	epoch   int64
	waiting func(error)
}

// Open connects, creates missing tables and returns the position to go on after; resumed is false
// for a new stream. dsn is a connection string or URL; what it leaves out comes from the PG*
// variables. stream names the position. waiting is called with each error of a connection that is
// lost later, before it is tried again.
//
// Errors do not contain dsn.
func Open(ctx context.Context, dsn, stream string, waiting func(error)) (t *Tables,
	after audit.StreamPosition, resumed bool, err error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil { // the cause has parts of the string
		return nil, after, false, errors.New("the connection string of PostgreSQL is not valid: " +
			"write postgres://USER:PASSWORD@HOST:5432/DATABASE or host=HOST user=USER dbname=DATABASE")
	}
	t = &Tables{config: config, stream: stream, waiting: waiting}
	if err := t.connect(ctx); err != nil {
		return nil, after, false, err
	}
	after, resumed, err = t.begin(ctx)
	if err != nil {
		t.Close()
		return nil, after, false, err
	}
	return t, after, resumed, nil
}

// Server returns host, port and database, for messages.
func (t *Tables) Server() string {
	return fmt.Sprintf("%s:%d/%s", t.config.Host, t.config.Port, t.config.Database)
}

func (t *Tables) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, t.config)
	if err != nil {
		return fmt.Errorf("PostgreSQL at %s: %w", t.Server(), err)
	}
	t.conn = conn
	return nil
}

// begin creates the tables, takes the stream over and returns its position.
func (t *Tables) begin(ctx context.Context) (after audit.StreamPosition, resumed bool, err error) {
	var found bool
	if err := t.conn.QueryRow(ctx, `SELECT to_regclass('switchyard_records') IS NOT NULL AND
		to_regclass('switchyard_streams') IS NOT NULL`).Scan(&found); err != nil {
		return after, false, err
	}
	if !found {
		if _, err := t.conn.Exec(ctx, schema); err != nil {
			return after, false, fmt.Errorf("create the tables: %w", err)
		}
	}
	var stored *string
	err = t.conn.QueryRow(ctx, `INSERT INTO switchyard_streams AS s (name, epoch) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET epoch = s.epoch + 1 RETURNING s.epoch, s.position`,
		t.stream).Scan(&t.epoch, &stored)
	if err != nil || stored == nil {
		return after, false, err
	}
	if err := json.Unmarshal([]byte(*stored), &after); err != nil {
		return after, false, fmt.Errorf("the position of the stream %q: %w", t.stream, err)
	}
	return after, true, nil
}

// Write inserts the entries of a batch whose keys the table does not have, and stores the position,
// in one transaction. If the connection is lost it connects and tries again until ctx ends. Errors:
// errReplaced, those of ctx, and those of statements.
func (t *Tables) Write(ctx context.Context, b audit.StreamBatch) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		err := t.try(ctx, b)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !again(err):
			return err
		}
		t.waiting(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// again reports whether another attempt may succeed: the database was not reached, stopped, or has
// too few resources.
func again(err error) bool {
	if errors.Is(err, errReplaced) || errors.Is(err, errEntry) {
		return false
	}
	switch class(err) {
	case "", "08", "40", "53", "57":
		return true
	}
	return false
}

// class returns the first two characters of the error's SQLSTATE; empty if the database did not
// answer.
func class(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && len(refused.Code) == 5 {
		return refused.Code[:2]
	}
	return ""
}

// try writes a batch once.
func (t *Tables) try(ctx context.Context, b audit.StreamBatch) error {
	if t.conn.IsClosed() {
		if err := t.connect(ctx); err != nil {
			return err
		}
	}
	err := t.transact(ctx, b, insertAll)
	switch class(err) {
	case "22", "54": // a value that jsonb cannot have
		return t.transact(ctx, b, insertEach)
	}
	return err
}

func (t *Tables) transact(ctx context.Context, b audit.StreamBatch,
	insert func(context.Context, pgx.Tx, []audit.StreamEntry) error) error {
	position, err := json.Marshal(b.Position)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		// The update comes first: it makes a process that was replaced wait for the newer one.
		done, err := tx.Exec(ctx, `UPDATE switchyard_streams SET position = $3, updated = now()
			WHERE name = $1 AND epoch = $2`, t.stream, t.epoch, string(position))
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return fmt.Errorf("stream %q: %w", t.stream, errReplaced)
		}
		return insert(ctx, tx, b.Entries)
	})
}

// Close closes the connection.
func (t *Tables) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.conn.Close(ctx) // everything is committed
}
