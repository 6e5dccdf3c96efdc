package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/switchyard/switchyard/api"
)

// NewCSV writes records as CSV (RFC 4180) with a header. Times are RFC 3339 in UTC, durations are
// in milliseconds, null is an empty cell. A cell that a spreadsheet would take for a formula
// begins with an apostrophe.
func NewCSV(w io.Writer) Exporter { return &csvExport{w: csv.NewWriter(w)} }

type csvExport struct {
	w       *csv.Writer
	started bool
}

func (x *csvExport) start() error {
	if x.started {
		return nil
	}
	x.started = true
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.name
	}
	return x.w.Write(header)
}

func (x *csvExport) Write(r api.Record) error {
	if err := x.start(); err != nil {
		return err
	}
	row := make([]string, len(columns))
	for i, c := range columns {
		v, err := c.read(&r)
		if err != nil {
			return fmt.Errorf("column %s of call %s: %w", c.name, r.CallID, err)
		}
		row[i] = cell(v)
	}
	return x.w.Write(row)
}

func (x *csvExport) Close() (string, error) {
	if err := x.start(); err != nil {
		return "", err
	}
	x.w.Flush()
	return "", x.w.Error()
}

func cell(v any) string {
	switch v := v.(type) {
	case string:
		return harmless(v)
	case json.RawMessage:
		return harmless(string(v))
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return ""
}

// harmless returns text that a spreadsheet does not evaluate.
func harmless(text string) string {
	if text != "" && bytes.IndexByte([]byte("=+-@\t\r"), text[0]) >= 0 {
		return "'" + text
	}
	return text
}
