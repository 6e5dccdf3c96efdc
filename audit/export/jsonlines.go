package export

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// link starts every line of an export in JSON Lines: the line's number from 1, and the SHA-256 of
// the line before it without its end, in hexadecimal; empty on the first line. A line that is
// changed, removed or inserted does not match the lines after it.
type link struct {
	Line     int    `json:"line"`
	Previous string `json:"previous"`
}

// exportEnd is the last line: the number of records before it.
type exportEnd struct {
	link
	Records *int `json:"records"`
}

// Exporter writes call records.
type Exporter interface {
	// Write writes one record.
	Write(api.Record) error
	// Close ends the export. The seal identifies an export that Verify can check; it is empty for
	// other formats.
	Close() (seal string, err error)
}

// NewJSON writes records as JSON Lines that Verify can check. The seal is the digest of the last
// line. Whoever keeps it elsewhere can later prove that the export is unchanged.
func NewJSON(w io.Writer) Exporter { return &jsonExport{w: w} }

type jsonExport struct {
	w    io.Writer
	last link
}

func (x *jsonExport) Write(r api.Record) error {
	head := x.next()
	line := fmt.Appendf(nil, `{"line":%d,"previous":%q,"record":{`, head.Line, head.Previous)
	for i, c := range columns {
		v, err := c.read(&r)
		if err != nil {
			return fmt.Errorf("column %s of call %s: %w", c.name, r.CallID, err)
		}
		if i > 0 {
			line = append(line, ',')
		}
		line = append(strconv.AppendQuote(line, c.name), ':')
		if line, err = appendJSON(line, v); err != nil {
			return fmt.Errorf("column %s of call %s: %w", c.name, r.CallID, err)
		}
	}
	return x.write(append(line, "}}"...))
}

// appendJSON appends a value of a column as JSON.
func appendJSON(line []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(line, "null"...), nil
	case int:
		return strconv.AppendInt(line, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(line, v), nil
	case json.RawMessage:
		return append(line, v...), nil
	}
	data, err := jsonvalue.Encode(v)
	return append(line, data...), err
}

func (x *jsonExport) next() link { return link{Line: x.last.Line + 1, Previous: x.last.Previous} }

// write writes a line and keeps its digest for the next one.
func (x *jsonExport) write(line []byte) error {
	x.last = link{Line: x.last.Line + 1, Previous: digestLine(line)}
	_, err := x.w.Write(append(line, '\n'))
	return err
}

func digestLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

func (x *jsonExport) Close() (string, error) {
	records := x.last.Line
	line, err := jsonvalue.Encode(exportEnd{link: x.next(), Records: &records})
	if err != nil {
		return "", err
	}
	if err := x.write(line); err != nil {
		return "", err
	}
	return x.last.Previous, nil
}

// ErrChain is returned for an export that is not as it was written. The error names the line.
var ErrChain = errors.New("the export was changed")

// Verify checks that no line of an export in JSON Lines was changed, removed, inserted or cut off.
// It returns the number of records, and the seal to compare with the one that NewJSON returned.
// Errors: ErrChain, or that of the reader.
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
			return max(
					last.Line-1,
					0,
				), "", broken(
					last.Line+1,
					"it is not a line of an export: %v",
					err,
				)
		}
		if end.Line != last.Line+1 || end.Previous != last.Previous {
			return max(last.Line-1, 0), "", checkLink(last.Line, end.link)
		}
		last = link{Line: end.Line, Previous: digestLine(data)}
		if end.Records != nil {
			return checkEnd(lines, *end.Records, last)
		}
	}
}

// readLine reads the line that follows the given number of lines, without its end.
func readLine(r *bufio.Reader, after int) ([]byte, error) {
	data, err := r.ReadBytes('\n')
	switch {
	case err == io.EOF && len(data) == 0 && after == 0:
		return nil, fmt.Errorf(
			"%w: it is empty, but an export without records has one line",
			ErrChain,
		)
	case err == io.EOF && len(data) == 0:
		return nil, broken(after, "the export was cut off after this line")
	case err == io.EOF:
		return nil, broken(after+1, "the line was cut off")
	}
	return bytes.TrimSuffix(data, []byte{'\n'}), err
}

// checkEnd checks what follows the last line.
func checkEnd(rest *bufio.Reader, records int, last link) (int, string, error) {
	if records != last.Line-1 {
		return max(
				last.Line-2,
				0,
			), "", broken(
				last.Line,
				"it counts %d records, but %d precede it",
				records,
				last.Line-1,
			)
	}
	if _, err := rest.ReadByte(); err != io.EOF {
		return records, "", broken(last.Line+1, "it follows the last line")
	}
	return records, last.Previous, nil
}

// checkLink returns why a line does not follow the lines before it. If only the digest differs,
// this line or the one before it was changed: the digest of a line is in the next one.
func checkLink(before int, next link) error {
	switch {
	case before == 0:
		return broken(
			1,
			"it is not the first line of an export: lines before it were removed, or it was changed",
		)
	case next.Line != before+1:
		return broken(
			before+1,
			"its number is %d: lines were removed or inserted, or it was changed",
			next.Line,
		)
	}
	return fmt.Errorf(
		"%w: line %d or line %d was changed: line %d does not have the digest of line %d",
		ErrChain,
		before,
		before+1,
		before+1,
		before,
	)
}

func broken(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrChain, line, fmt.Sprintf(format, args...))
}
