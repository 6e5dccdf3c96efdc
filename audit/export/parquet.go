// Package export writes call records as Parquet, for programs that read tables by the column. It is apart from audit because of
// what it imports.
package export

import (
	"io"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/switchyard/switchyard/api"
)

// A row group is what the writer holds in memory; it is written when it has so many rows, or about so many bytes of text.
const (
	groupRows  = 10_000
	groupBytes = 16 << 20
)

// row is one call. The columns are those of an export as CSV, with types: times are timestamps in microseconds and UTC, null where
// there is none; durations are in milliseconds; arguments are JSON text.
type row struct {
	WorkflowID     string     `parquet:"workflow_id,dict"`
	Run            string     `parquet:"run,dict"`
	Path           string     `parquet:"path"`
	CallID         string     `parquet:"call_id"`
	Turn           int32      `parquet:"turn"`
	Tool           string     `parquet:"tool,dict"`
	Version        string     `parquet:"version,dict"`
	Status         string     `parquet:"status,dict"`
	DryRun         bool       `parquet:"dry_run"`
	Batched        bool       `parquet:"batched"`
	Error          *string    `parquet:"error,optional,dict"`
	Lane           string     `parquet:"lane,dict"`
	Priority       string     `parquet:"priority,dict"`
	Attempts       int32      `parquet:"attempts"`
	Worker         string     `parquet:"worker,dict"`
	Scheduled      *time.Time `parquet:"scheduled,optional,timestamp(microsecond)"`
	Started        *time.Time `parquet:"started,optional,timestamp(microsecond)"`
	Closed         *time.Time `parquet:"closed,optional,timestamp(microsecond)"`
	QueueWait      float64    `parquet:"queue_wait_ms"`
	Duration       float64    `parquet:"duration_ms"`
	ArgumentTokens int64      `parquet:"argument_tokens"`
	ResultTokens   int64      `parquet:"result_tokens"`
	CallerType     string     `parquet:"caller_type,dict"`
	Caller         string     `parquet:"caller,dict"`
	Conversation   string     `parquet:"conversation,dict"`
	Arguments      *string    `parquet:"arguments,optional"`
	Evaluation     *string    `parquet:"evaluation,optional,dict"`
	EvaluatedBy    *string    `parquet:"evaluated_by,optional,dict"`
}

// NewExport writes records as Parquet, compressed with zstd, in groups of rows, so that memory does not grow with their number.
func NewParquet(w io.Writer) Exporter {
	return &export{w: parquet.NewGenericWriter[row](w, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("switchyard", "1", "audit"))}
}

type export struct {
	w *parquet.GenericWriter[row]
	// rows and bytes are those of the group that is being collected.
	rows, bytes int
}

// Write adds one record; a full group is written.
func (x *export) Write(r api.Record) error {
	if _, err := x.w.Write([]row{rowOf(r)}); err != nil {
		return err
	}
	x.rows++
	x.bytes += len(r.Arguments)
	if x.rows < groupRows && x.bytes < groupBytes {
		return nil
	}
	x.rows, x.bytes = 0, 0
	return x.w.Flush()
}

// Close writes the last group and the file's index. There is no seal: the columns have no order that could be chained.
func (x *export) Close() (string, error) { return "", x.w.Close() }

func rowOf(r api.Record) row {
	out := row{WorkflowID: r.WorkflowID, Run: r.Run, Path: r.Path, CallID: r.CallID, Turn: int32(r.Turn), Tool: r.Tool, Version: r.Version, Status: string(r.Status),
		DryRun: r.DryRun, Batched: r.Batched, Lane: r.Lane, Priority: string(r.Priority), Attempts: int32(r.Attempts), Worker: r.Worker,
		Scheduled: moment(r.Scheduled), Started: moment(r.Started), Closed: moment(r.Closed), QueueWait: inMilliseconds(r.QueueWait), Duration: inMilliseconds(r.Duration),
		ArgumentTokens: int64(r.ArgumentTokens()), ResultTokens: int64(r.ResultTokens), CallerType: string(r.Caller.Type), Caller: r.Caller.ID, Conversation: r.Conversation}
	if r.Error != nil {
		kind := string(r.Error.Type)
		out.Error = &kind
	}
	if len(r.Arguments) > 0 {
		text := string(r.Arguments)
		out.Arguments = &text
	}
	if v := r.Evaluation; v != nil {
		out.Evaluation, out.EvaluatedBy = &v.Evaluation, &v.EvaluatedBy
	}
	return out
}

// moment is nil for no time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func inMilliseconds(d api.Duration) float64 { return float64(d) / float64(time.Millisecond) }
