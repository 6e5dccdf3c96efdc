package recorddb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
)

// schema creates the tables. docs/records.md describes the columns.
const schema = `
CREATE TABLE IF NOT EXISTS switchyard_records (
	key text PRIMARY KEY,
	kind text NOT NULL,
	workflow_id text NOT NULL,
	run_id text NOT NULL,
	call_id text,
	path text,
	tool text,
	status text,
	error text,
	caller text,
	conversation text,
	started timestamptz,
	closed timestamptz,
	data jsonb NOT NULL
);
CREATE INDEX IF NOT EXISTS switchyard_records_closed ON switchyard_records (closed);
CREATE INDEX IF NOT EXISTS switchyard_records_run ON switchyard_records (run_id);
CREATE TABLE IF NOT EXISTS switchyard_streams (
	name text PRIMARY KEY,
	epoch bigint NOT NULL,
	position text,
	updated timestamptz
)`

const insertion = `INSERT INTO switchyard_records (key, kind, workflow_id, run_id, call_id, path,
	tool, status, error, caller, conversation, started, closed, data)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, `

const (
	insertJSON = insertion + `$14::jsonb) ON CONFLICT (key) DO NOTHING`
	// insertText stores JSON that jsonb cannot have as a JSON string.
	insertText = insertion + `to_jsonb($14::text)) ON CONFLICT (key) DO NOTHING`
)

// insertAll inserts entries in one round trip.
func insertAll(ctx context.Context, tx pgx.Tx, entries []audit.StreamEntry) error {
	if len(entries) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, e := range entries {
		values, err := entryValues(e)
		if err != nil {
			return err
		}
		batch.Queue(insertJSON, values...)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// insertEach inserts entries one by one, those that jsonb cannot have as text.
func insertEach(ctx context.Context, tx pgx.Tx, entries []audit.StreamEntry) error {
	for _, e := range entries {
		values, err := entryValues(e)
		if err != nil {
			return err
		}
		try := func(statement string) error {
			return pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
				_, err := savepoint.Exec(ctx, statement, values...)
				return err
			})
		}
		err = try(insertJSON)
		if c := class(err); c == "22" || c == "54" {
			err = try(insertText)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryValues returns the values of a row.
func entryValues(e audit.StreamEntry) ([]any, error) {
	var values []any
	var whole any
	switch {
	case e.Record != nil:
		values, whole = callValues(e.Key, e.Record), e.Record
	case e.Run != nil:
		values, whole = runValues(e.Key, e.Run), e.Run
	default:
		values, whole = gapValues(e.Key, e.Gap), e.Gap
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errEntry, e.Key, err)
	}
	return append(values, string(data)), nil
}

func gapValues(key string, g *audit.StreamGap) []any {
	return []any{text(key), "gap", clean(g.WorkflowID), clean(g.RunID), nil, nil, nil, nil, nil,
		nil, nil, moment(g.From), moment(g.To)}
}

func callValues(key string, r *api.Record) []any {
	failed := ""
	if r.Error != nil {
		failed = string(r.Error.Type)
	}
	return []any{text(key), "call", clean(r.WorkflowID), clean(r.Run), text(r.CallID), text(r.Path),
		text(r.Tool), text(string(r.Status)), text(failed), text(r.Caller.ID),
		text(r.Conversation), moment(r.Started), moment(r.Closed)}
}

func runValues(key string, s *history.Summary) []any {
	return []any{text(key), "run", clean(s.WorkflowID), clean(s.Run), nil, nil, text(s.Name),
		text(string(s.Status)), text(string(s.FailureType)), text(s.Caller.ID),
		text(s.Conversation), moment(s.Started), moment(s.Closed)}
}

// clean returns a text as PostgreSQL can have it: valid UTF-8 without zero characters.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// text is clean with null for an empty text.
func text(s string) any {
	if s == "" {
		return nil
	}
	return clean(s)
}

// moment returns null for the zero time.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
