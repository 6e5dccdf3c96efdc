package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Lines are the messages of a client over standard streams: one on each line. Lines that are not
// messages are answered with an error and are not read by others.
type Lines struct {
	in    io.ReadCloser
	lines *bufio.Reader
	limit int
	out   *Writer
	// rest is what is left of the last message.
	rest []byte
}

// NewLines returns the messages of in. Lines of more than limit bytes are refused. Errors are
// written to out.
func NewLines(in io.ReadCloser, out *Writer, limit int) *Lines {
	return &Lines{in: in, lines: bufio.NewReader(in), limit: limit, out: out}
}

// Read implements io.Reader.
func (l *Lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m, fault := Check(line)
		if fault == nil {
			l.rest = append(bytes.TrimSpace(m.Body), '\n')
			break
		}
		if err := l.refuse(m, fault); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *Lines) refuse(m Message, fault *jsonrpc.Error) error {
	_, err := l.out.Write(append(encode(m.ID, fault), '\n'))
	return err
}

// line returns the next line. What is beyond the limit is dropped, so that the line is refused.
func (l *Lines) line() (line []byte, err error) {
	for {
		part, err := l.lines.ReadSlice('\n')
		if len(line) <= l.limit {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > l.limit {
				line = []byte("{") // no JSON
			}
			return line, err
		}
	}
}

// Close closes the stream.
func (l *Lines) Close() error { return l.in.Close() }

// Writer is a stream that several write to, a whole message at a time.
type Writer struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// NewWriter returns a writer to out.
func NewWriter(out io.WriteCloser) *Writer { return &Writer{out: out} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// Close closes the stream.
func (w *Writer) Close() error { return w.out.Close() }
