package mcpclient

import (
	"bufio"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/process"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

const (
	// maxStderr bounds the logged standard error of one server, in bytes; maxStderrLine bounds one
	// line.
	maxStderr     = 1 << 20
	maxStderrLine = 2 << 10
	// keptStderr is how much of its end is kept for errors.
	keptStderr = 2 << 10
)

// stderrLog writes a server's standard error to a log, bounded, and keeps its end for errors.
type stderrLog struct {
	log *slog.Logger
	// hider takes out the secrets that the server was given.
	hider *redaction.Hider
	done  chan struct{}

	mu     sync.Mutex
	tail   []byte
	logged int
	file   *os.File
}

func newStderrLog(log *slog.Logger, hider *redaction.Hider) *stderrLog {
	return &stderrLog{log: log, hider: hider, done: make(chan struct{})}
}

// read reads everything, so that the server never waits for its reader.
func (s *stderrLog) read(f *os.File) {
	defer close(s.done)
	defer f.Close()
	s.mu.Lock()
	s.file = f
	s.mu.Unlock()
	r := bufio.NewReaderSize(f, maxStderrLine)
	for {
		line, err := r.ReadSlice('\n')
		s.take(line)
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (s *stderrLog) take(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line = []byte(s.hider.Text(string(line)))
	s.tail = append(s.tail, line...)
	s.tail = s.tail[max(0, len(s.tail)-keptStderr):]
	if len(trimLine(line)) == 0 || s.logged > maxStderr {
		return
	}
	s.log.Debug("MCP server's standard error", "line", sample(trimLine(line)))
	if s.logged += len(line); s.logged > maxStderr {
		s.log.Debug("the MCP server's standard error is no longer logged", "bytes", s.logged)
	}
}

// finish waits for the remaining output of a server that exited, at most for within.
func (s *stderrLog) finish(within time.Duration) {
	s.mu.Lock()
	if s.file != nil {
		_ = s.file.SetReadDeadline(time.Now().Add(within))
	}
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(within):
	}
}

// quoted returns the end of the output after a separator, or nothing.
func (s *stderrLog) quoted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return process.QuoteTail("; it wrote to standard error: ", s.tail)
}
