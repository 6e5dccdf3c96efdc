package recorddb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// opened opens a stream. It is closed at the end of the test.
func opened(t *testing.T, dsn, stream string) (tables *Tables,
	after audit.StreamPosition) {
	t.Helper()
	tables, after, _, err := Open(t.Context(), dsn, stream, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tables.Close)
	return tables, after
}

func at(n int) audit.StreamPosition {
	return audit.StreamPosition{Closed: time.Unix(int64(n), 0).UTC()}
}

// calls returns a batch of calls, and a position.
func calls(n int, ids ...string) audit.StreamBatch {
	b := audit.StreamBatch{Position: at(n)}
	for _, id := range ids {
		b.Entries = append(b.Entries, audit.StreamEntry{Key: "run/" + id, Record: &api.Record{
			CallID: id, Run: "run", WorkflowID: "flow", Tool: "echo", Status: api.CallCompleted}})
	}
	return b
}

// rows returns one text for each row.
func rows(t *testing.T, dsn, query string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	found, err := conn.Query(ctx, query)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestWrite_StoresEachKeyOnceWithThePosition(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	first, after := opened(t, p.DSN, "one")
	if !after.Closed.IsZero() {
		t.Errorf("a new stream begins after %v", after)
	}
	for _, b := range []audit.StreamBatch{calls(1, "1.1", "1.2"), calls(2, "1.2", "1.3"), {
		Position: at(3), Entries: []audit.StreamEntry{
			{Key: "run", Run: &history.Summary{WorkflowID: "flow", Run: "run", Name: "agent",
				Status: history.RunFailed, FailureType: api.RunCallsFailed}},
			{Key: "gap/x", Gap: &audit.StreamGap{Reason: "late", From: time.Unix(1, 0)}}}}} {
		if err := first.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, after := opened(t, p.DSN, "one"); !after.Closed.Equal(at(3).Closed) {
		t.Errorf("the stream goes on after %v", after)
	}
	if _, after := opened(t, p.DSN, "another"); !after.Closed.IsZero() {
		t.Errorf("another stream begins after %v", after)
	}
	expect(t, "rows", rows(t, p.DSN, `SELECT concat_ws(' ', kind, key, workflow_id, run_id,
		call_id, tool, status, error, extract(epoch from started)::int, data->>'reason')
		FROM switchyard_records ORDER BY key`), []string{
		"gap gap/x   1 late", "run run flow run agent failed calls_failed",
		"call run/1.1 flow run 1.1 echo completed", "call run/1.2 flow run 1.2 echo completed",
		"call run/1.3 flow run 1.3 echo completed"})
}

// The process that opened a stream last writes it. An older one, which may hang, cannot.
func TestWrite_RefusesAProcessThatWasReplaced(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	first, _ := opened(t, p.DSN, "s")
	second, _ := opened(t, p.DSN, "s")
	if err := first.Write(t.Context(), calls(1, "1.1")); !errors.Is(err, errReplaced) {
		t.Errorf("the first process gets %v", err)
	}
	if err := second.Write(t.Context(), calls(1, "1.2")); err != nil {
		t.Error(err)
	}
	expect(t, "rows", rows(t, p.DSN, `SELECT key FROM switchyard_records`), []string{"run/1.2"})
}

// Values that jsonb cannot have do not stop the stream, and lose nothing.
func TestWrite_StoresWhatJSONBCannotHave(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	tables, _ := opened(t, p.DSN, "s")
	b := calls(1, "1.1", "1.2", "1.3", "1.4", "1.5")
	for i, odd := range []string{`"a\u0000b"`, `"\ud800"`, `1e999999`,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000)} {
		b.Entries[i].Record.Result = &api.Result{Output: json.RawMessage(odd)}
	}
	b.Entries[4].Record.Tool = "a\x00\xff"
	if err := tables.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	expect(t, "rows", rows(t, p.DSN, `SELECT concat_ws(' ', call_id, jsonb_typeof(data), tool,
		CASE WHEN jsonb_typeof(data) = 'string' THEN left(data #>> '{}', 18) END)
		FROM switchyard_records ORDER BY key`), []string{`1.1 string echo {"call_id":"1.1","`, `1.2 string echo {"call_id":"1.2","`,
		`1.3 string echo {"call_id":"1.3","`, "1.4 object echo", "1.5 string a\uFFFD\uFFFD {\"call_id\":\"1.5\",\""})
}

// A database that is killed between two batches is reached again.
func TestWrite_GoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	tables, _ := opened(t, p.DSN, "s")
	for i := range 3 {
		if err := tables.Write(t.Context(), calls(i, fmt.Sprint("1.", i))); err != nil {
			t.Fatal(err)
		}
		p.Restart()
	}
	expect(t, "rows", rows(t, p.DSN, `SELECT key FROM switchyard_records ORDER BY key`),
		[]string{"run/1.0", "run/1.1", "run/1.2"})
}

// A wrong connection string is reported without its parts.
func TestOpen_DoesNotRepeatTheConnectionString(t *testing.T) {
	want := "the connection string of PostgreSQL is not valid: write " +
		"postgres://USER:PASSWORD@HOST:5432/DATABASE or host=HOST user=USER dbname=DATABASE"
	for _, dsn := range []string{"postgres://ada:hidden@host:x/db", "password=hidden port",
		"host=h password=hidden sslmode=odd"} {
		if _, _, _, err := Open(t.Context(), dsn, "s", nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	_, _, _, err := Open(t.Context(), "host=/nowhere user=ada password=hidden", "s", nil)
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error is %v", err)
	}
}

// change executes a statement on the database.
func change(t *testing.T, dsn, statement string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_ReportsWhatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	const readOnly = " options='-c default_transaction_read_only=on'"
	refused := func(what, dsn, want string) {
		t.Helper()
		_, _, _, err := Open(t.Context(), dsn, "s", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", what, err, want)
		}
	}
	refused("no right to create tables", p.DSN+readOnly, "create the tables: ")
	opened(t, p.DSN, "s")
	refused("no right to write", p.DSN+readOnly, "read-only")
	change(t, p.DSN, `UPDATE switchyard_streams SET position = '{'`)
	refused("a changed position", p.DSN, `the position of the stream "s": `)
}

// An error that another attempt cannot mend is returned at once.
func TestWrite_ReturnsErrorsThatStay(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	tables, _ := opened(t, p.DSN, "s")
	odd := calls(1, "1.1", "1.2")
	odd.Entries[1].Record.Result = &api.Result{Output: json.RawMessage(`{`)}
	if err := tables.Write(t.Context(), odd); !errors.Is(err, errEntry) {
		t.Errorf("an entry that is not JSON: %v", err)
	}
	odd.Entries[0].Record.Result = &api.Result{Output: json.RawMessage(`"\u0000"`)}
	odd.Entries[1], odd.Entries[0] = odd.Entries[0], odd.Entries[1]
	if err := tables.Write(t.Context(), odd); !errors.Is(err, errEntry) {
		t.Errorf("an entry that is not JSON, and one that is stored as text: %v", err)
	}
	expect(t, "rows", rows(t, p.DSN, `SELECT key FROM switchyard_records`), nil)
	for _, table := range []string{"switchyard_records", "switchyard_streams"} {
		change(t, p.DSN, "DROP TABLE "+table)
		err := tables.Write(t.Context(), calls(1, "1.1"))
		if err == nil || !strings.Contains(err.Error(), table) {
			t.Errorf("without the table %s: %v", table, err)
		}
	}
}

// While the database is away a batch waits, until the context ends.
func TestWrite_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := testserver.NewPostgres(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tables, _, _, err := Open(ctx, p.DSN, "s", func(error) { cancel() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tables.Close)
	p.Kill()
	for err == nil { // the process of the connection ends a moment after the server
		err = tables.Write(ctx, calls(1, "1.1"))
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a batch that waits: %v", err)
	}
	if err := tables.Write(ctx, calls(1, "1.1")); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch after the end of the context: %v", err)
	}
}
