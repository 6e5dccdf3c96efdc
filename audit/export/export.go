package export

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/switchyard/switchyard/api"
)

// link is what every line of an export in JSON Lines begins with: its number from 1, and the SHA-256 of the line before it,
// without the line's end, in hexadecimal; empty on the first. So no line can be changed, taken out or put in without every
// later one telling.
type link struct {
	Line     int    `json:"line"`
	Previous string `json:"previous"`
}

// exportedRecord is one call's line, exportEnd the last line: how many calls there are before it.
type exportedRecord struct {
	link
	Record api.Record `json:"record"`
}

type exportEnd struct {
	link
	Records *int `json:"records"`
}

// Exporter writes call records.
type Exporter interface {
	// Write writes one record.
	Write(api.Record) error
	// Close ends the export. What it returns identifies an export that can be verified; it is empty for others.
	Close() (seal string, err error)
}

// NewJSONExport writes records as JSON Lines that are chained, for Verify. The seal is the digest of the last line: whoever
// keeps it elsewhere can tell later that the whole export is as it was.
func NewJSON(w io.Writer) Exporter { return &jsonExport{w: w} }

type jsonExport struct {
	w    io.Writer
	last link
}

func (x *jsonExport) Write(r api.Record) error {
	return x.line(exportedRecord{link: x.next(), Record: r})
}

func (x *jsonExport) next() link { return link{Line: x.last.Line + 1, Previous: x.last.Previous} }

func (x *jsonExport) line(value any) error {
	data, err := api.EncodeJSON(value)
	if err != nil {
		return err
	}
	x.last = link{Line: x.last.Line + 1, Previous: digestOf(data)}
	_, err = x.w.Write(append(data, '\n'))
	return err
}

func digestOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

func (x *jsonExport) Close() (string, error) {
	records := x.last.Line
	if err := x.line(exportEnd{link: x.next(), Records: &records}); err != nil {
		return "", err
	}
	return x.last.Previous, nil
}

// ErrChain: an export is not as it was written. The error says which line tells.
var ErrChain = errors.New("the export is not as it was written")

// Verify reads an export in JSON Lines and checks that no line was changed, taken out, put in or cut off. It returns how many
// records there are and the export's seal, to be compared with the one that was kept. The error is ErrChain, or the reader's.
func Verify(r io.Reader) (records int, seal string, err error) {
	lines := bufio.NewReader(r)
	var last link
	for {
		data, err := readLine(lines, last.Line)
		if err != nil {
			return max(last.Line-1, 0), "", err
		}
		var end exportEnd
		if err := json.Unmarshal(data, &end); err != nil {
			return max(last.Line-1, 0), "", broken(last.Line+1, "this is no line of an export: %v", err)
		}
		if end.Line != last.Line+1 || end.Previous != last.Previous {
			return max(last.Line-1, 0), "", unchained(last.Line, end.link)
		}
		last = link{Line: end.Line, Previous: digestOf(data)}
		if end.Records != nil {
			return checkEnd(lines, *end.Records, last)
		}
	}
}

// readLine reads the line after that many, without its end.
func readLine(r *bufio.Reader, after int) ([]byte, error) {
	data, err := r.ReadBytes('\n')
	switch {
	case err == io.EOF && len(data) == 0 && after == 0:
		return nil, fmt.Errorf("%w: it is empty; even an export of no records has one line", ErrChain)
	case err == io.EOF && len(data) == 0:
		return nil, broken(after, "the export ends here without its last line: it was cut off")
	case err == io.EOF:
		return nil, broken(after+1, "the line has no end: it was cut off")
	}
	return bytes.TrimSuffix(data, []byte{'\n'}), err
}

// checkEnd checks what is left when the last line has been read.
func checkEnd(rest *bufio.Reader, records int, last link) (int, string, error) {
	if records != last.Line-1 {
		return max(last.Line-2, 0), "", broken(last.Line, "it tells of %d records, and %d stand before it", records, last.Line-1)
	}
	if _, err := rest.ReadByte(); err != io.EOF {
		return records, "", broken(last.Line+1, "it stands after the last one")
	}
	return records, last.Previous, nil
}

// unchained says why a line does not follow the first few. That it has their number but not their digest tells that one of two was
// changed: the last of them, which was not found out before because only the next line has its digest, or that line itself.
func unchained(before int, next link) error {
	switch {
	case before == 0:
		return broken(1, "it is not the first line of an export: lines before it were taken out, or it was changed")
	case next.Line != before+1:
		return broken(before+1, "it says that it is line %d: lines were taken out or put in, or it was changed", next.Line)
	}
	return fmt.Errorf("%w: line %d or line %d was changed: the digest that line %d has is not that of line %d", ErrChain, before, before+1, before+1, before)
}

func broken(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrChain, line, fmt.Sprintf(format, args...))
}

// csvColumns are the columns of an export as CSV.
var csvColumns = []string{"workflow_id", "run", "path", "call_id", "turn", "tool", "version", "status", "dry_run", "batched", "error", "lane", "priority", "attempts", "worker",
	"scheduled", "started", "closed", "queue_wait_ms", "duration_ms", "argument_tokens", "result_tokens", "caller_type", "caller", "conversation", "arguments", "evaluation", "evaluated_by"}

// NewCSVExport writes records as CSV (RFC 4180) with a header. Times are in RFC 3339 and UTC, durations in milliseconds.
// Values that a spreadsheet would take for a formula begin with an apostrophe.
func NewCSV(w io.Writer) Exporter { return &csvExport{w: csv.NewWriter(w)} }

type csvExport struct {
	w     *csv.Writer
	begun bool
}

func (x *csvExport) begin() error {
	if x.begun {
		return nil
	}
	x.begun = true
	return x.w.Write(csvColumns)
}

func (x *csvExport) Write(r api.Record) error {
	if err := x.begin(); err != nil {
		return err
	}
	failed, decision := "", api.EvaluatedResult{}
	if r.Error != nil {
		failed = string(r.Error.Type)
	}
	if r.Evaluation != nil {
		decision = *r.Evaluation
	}
	row := []string{r.WorkflowID, r.Run, r.Path, r.CallID, strconv.Itoa(r.Turn), r.Tool, r.Version, string(r.Status), strconv.FormatBool(r.DryRun), strconv.FormatBool(r.Batched), failed, r.Lane, string(r.Priority),
		strconv.Itoa(r.Attempts), r.Worker, csvTime(r.Scheduled), csvTime(r.Started), csvTime(r.Closed), milliseconds(r.QueueWait), milliseconds(r.Duration),
		strconv.Itoa(r.ArgumentTokens()), strconv.Itoa(r.ResultTokens), string(r.Caller.Type), r.Caller.ID, r.Conversation, string(r.Arguments),
		decision.Evaluation, decision.EvaluatedBy}
	for i, cell := range row {
		if cell != "" && bytes.IndexByte([]byte("=+-@\t\r"), cell[0]) >= 0 {
			row[i] = "'" + cell
		}
	}
	return x.w.Write(row)
}

func (x *csvExport) Close() (string, error) {
	if err := x.begin(); err != nil {
		return "", err
	}
	x.w.Flush()
	return "", x.w.Error()
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func milliseconds(d api.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}
