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
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// line is a line of an export in JSON Lines: its number from 1, and the SHA-256 of the line before
// it without its end, in hexadecimal; empty on the first line. A line that is changed, removed or
// inserted does not match the lines after it.
type line struct {
	Line     int         `json:"line"`
	Previous string      `json:"previous"`
	Record   *api.Record `json:"record,omitempty"`
	// Records is set on the last line only: the number of records before it.
	Records *int `json:"records,omitempty"`
}

// chain is how far a file has been written or read: the number of its last line, and the digest of
// that line.
type chain struct {
	lines  int
	digest string
}

func (c *chain) add(data []byte) {
	sum := sha256.Sum256(data)
	c.lines, c.digest = c.lines+1, hex.EncodeToString(sum[:])
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
	w io.Writer
	chain
}

func (x *jsonExport) Write(r api.Record) error { return x.write(line{Record: &r}) }

func (x *jsonExport) write(l line) error {
	l.Line, l.Previous = x.lines+1, x.digest
	data, err := jsonvalue.Encode(l)
	if err != nil {
		return fmt.Errorf("line %d: %w", l.Line, err)
	}
	x.add(data)
	_, err = x.w.Write(append(data, '\n'))
	return err
}

func (x *jsonExport) Close() (string, error) {
	records := x.lines
	err := x.write(line{Records: &records})
	return x.digest, err
}

// ErrChain is returned for an export that is not as it was written. The error names the line.
var ErrChain = errors.New("the export was changed")

// Verify checks that no line of an export in JSON Lines was changed, removed, inserted or cut off.
// It returns the number of records that are unchanged, and the seal to compare with the one that
// NewJSON returned. Errors: ErrChain, or that of the reader.
func Verify(r io.Reader) (records int, seal string, err error) {
	c := chainReader{in: bufio.NewReader(r)}
	for {
		l, err := c.next()
		if err != nil || l.Records != nil {
			return max(c.lines-1, 0), c.digest, err // the digest of the last line is not checked
		}
	}
}

// Read yields the records of an export in JSON Lines, in its order. It ends with the error of
// Verify, after the records before the fault.
func Read(r io.Reader) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		c := chainReader{in: bufio.NewReader(r)}
		for {
			l, err := c.next()
			if err != nil {
				yield(api.Record{}, err)
				return
			}
			if l.Records != nil || l.Record != nil && !yield(*l.Record, nil) {
				return
			}
		}
	}
}

// chainReader reads an export and checks its chain.
type chainReader struct {
	in *bufio.Reader
	chain
}

// next returns the next line. The last one has Records.
func (c *chainReader) next() (l line, err error) {
	data, err := c.readLine()
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, broken(c.lines+1, "it is not a line of an export: %v", err)
	}
	if l.Line != c.lines+1 || l.Previous != c.digest {
		return l, c.explainBreak(l)
	}
	c.add(data)
	if l.Records == nil {
		return l, nil
	}
	if *l.Records != l.Line-1 {
		return l, broken(l.Line, "it counts %d records, but %d precede it", *l.Records, l.Line-1)
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		return l, broken(l.Line+1, "it follows the last line")
	}
	return l, nil
}

// readLine reads the next line, without its end.
func (c *chainReader) readLine() ([]byte, error) {
	data, err := c.in.ReadBytes('\n')
	switch {
	case err == io.EOF && len(data) == 0 && c.lines == 0:
		return nil, fmt.Errorf("%w: it is empty, but an export without records has one line",
			ErrChain)
	case err == io.EOF && len(data) == 0:
		return nil, broken(c.lines, "the export was cut off after this line")
	case err == io.EOF:
		return nil, broken(c.lines+1, "the line was cut off")
	}
	return bytes.TrimSuffix(data, []byte{'\n'}), err
}

// explainBreak returns why a line does not follow the lines before it. If only the digest differs,
// this line or the one before it was changed: the digest of a line is in the next one.
func (c *chainReader) explainBreak(next line) error {
	switch {
	case c.lines == 0:
		return broken(1, "it is not the first line of an export: lines before it were removed, "+
			"or it was changed")
	case next.Line != c.lines+1:
		return broken(c.lines+1, "its number is %d: lines were removed or inserted, "+
			"or it was changed", next.Line)
	}
	return fmt.Errorf("%w: line %d or line %d was changed: line %d does not have the digest of "+
		"line %d", ErrChain, c.lines, c.lines+1, c.lines+1, c.lines)
}

func broken(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrChain, line, fmt.Sprintf(format, args...))
}
