package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/process"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

const (
	// drainTime is how long the output of a server that has ended is read on.
	drainTime = 500 * time.Millisecond
	// closeGrace is how long a server may take to exit after its input is closed.
	closeGrace = time.Second
)

// serverProcess is a server that runs as a program and communicates over its standard input and
// output.
type serverProcess struct {
	cmd    *exec.Cmd
	input  *os.File
	output *os.File
	lines  *bufio.Reader
	limit  int
	// hider removes the server's secrets from its output.
	hider  *redaction.Hider
	stderr *stderrLog
	// writing holds one token, which a writer takes.
	writing chan struct{}
	// ended is closed when the program has ended, exited when its ending can be read.
	ended, exited chan struct{}
	closing       sync.Once
	// failure is why nothing more can be read, once that is so.
	failure atomic.Pointer[error]
	log     *slog.Logger
	// noise counts the lines on standard output that were no messages; noisy is the last one.
	noise int
	noisy atomic.Pointer[string]
}

// startProcess starts a server. ctx is not its life's, only the start's.
func startProcess(argv []string, dir string, env []string, hider *redaction.Hider, limit int,
	log *slog.Logger) (*serverProcess, error) {
	cmd, err := process.Command(argv, dir, env)
	if err != nil {
		return nil, process.StartError(argv[0], err)
	}
	process.OwnGroup(cmd)
	p := &serverProcess{cmd: cmd, limit: limit, hider: hider, stderr: newStderrLog(log, hider),
		writing: make(chan struct{}, 1), log: log,
		ended: make(chan struct{}), exited: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, process.StartError(argv[0], err)
	}
	p.lines = bufio.NewReader(p.output)
	go p.watch()
	return p, nil
}

// start connects the program by three pipes. This side's ends are files with deadlines, so neither
// a server that does not read nor a pipe that outlives it can block.
func (p *serverProcess) start() error {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			p.closePipes()
		}
		return r, w, err
	}
	in, input, err := pipe()
	if err != nil {
		return err
	}
	p.input, theirs = input, append(theirs, in)
	output, out, err := pipe()
	if err != nil {
		return err
	}
	p.output, theirs = output, append(theirs, out)
	failures, errs, err := pipe()
	if err != nil {
		return err
	}
	theirs = append(theirs, errs)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errs
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		_ = failures.Close()
		return err
	}
	go p.stderr.read(failures)
	return nil
}

func (p *serverProcess) closePipes() {
	for _, f := range []*os.File{p.input, p.output} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// watch waits for the program's exit. Its output is read to the end but not indefinitely: a process
// that left the group may keep it open.
func (p *serverProcess) watch() {
	_ = process.Reap(p.cmd, p.ended)
	p.stderr.finish(drainTime)
	_ = p.output.SetReadDeadline(time.Now().Add(drainTime))
	close(p.exited)
}

// Connect implements mcp.Transport.
func (p *serverProcess) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements mcp.Connection.
func (p *serverProcess) SessionID() string { return "" }

// Read implements mcp.Connection. The server must write messages of bounded size.
func (p *serverProcess) Read(ctx context.Context) (message jsonrpc.Message, err error) {
	defer panics.MCP.Contain(ctx, p.log, func(failed error) { message, err = nil, failed })
	message, err = p.read()
	if err != nil {
		p.failure.CompareAndSwap(nil, &err)
		return nil, err
	}
	return message, nil
}

// read returns the next message. It skips lines that are no messages, because many servers print
// to their standard output. Without a message in between they may have as many bytes as a message.
func (p *serverProcess) read() (jsonrpc.Message, error) {
	for skipped := 0; skipped <= p.limit; {
		line, err := readLine(p.lines, p.limit)
		if err != nil {
			return nil, p.readError(err)
		}
		skipped += len(line) + len("\n")
		if !bytes.Contains(line, protocolField) && !nestsTooDeep(line) {
			p.logNoise(p.hidden(line)) // decoding a million lines of noise takes a minute
			continue
		}
		line = p.hidden(normalizeMessage(withoutDeepTools(line)))
		message, err := jsonrpc.DecodeMessage(line)
		switch {
		case err == nil:
			return checkedResult(message, line), nil
		case nestsTooDeep(line):
			return nil, &Fault{Reason: fmt.Sprintf(
				"sent a message whose values nest more than %d deep", maxNesting)}
		case bytes.Contains(line, protocolField): // an answer may be lost with it
			return nil, &Fault{Reason: "wrote a message to standard output that cannot be read: " +
				sample(line) + " (" + explainUnreadableLine(line, err) + ")"}
		}
		p.logNoise(line)
	}
	return nil, &Fault{Reason: fmt.Sprintf(
		"wrote more than %d bytes to standard output that are not MCP messages", p.limit)}
}

// checkedResult returns the message of a line. A result that cannot be used becomes an error.
func checkedResult(message jsonrpc.Message, line []byte) jsonrpc.Message {
	if r, ok := message.(*jsonrpc.Response); ok {
		if fault := resultFault(line); fault != nil && r.Error == nil {
			r.Result, r.Error = nil, fault
		}
		r.Result = forwardResult(r.Result)
	}
	return message
}

// protocolField is part of every MCP message.
var protocolField = []byte(`"jsonrpc"`)

// maxNoise bounds how many lines that are no messages are logged of one server.
const maxNoise = 20

func (p *serverProcess) logNoise(line []byte) {
	p.noise++
	text := sample(line)
	p.noisy.Store(&text)
	switch {
	case p.noise < maxNoise:
		p.log.Warn("a line on an MCP server's standard output is not an MCP message; skipped",
			"line", text)
	case p.noise == maxNoise:
		p.log.Warn("more lines on an MCP server's standard output are not MCP messages; "+
			"they are skipped and no longer logged", "line", text)
	}
}

// quoted returns, after a separator, the end of what the server wrote to its standard error, and
// the last line on its standard output that was no message.
func (p *serverProcess) quoted() string {
	text := p.stderr.quoted()
	if line := p.noisy.Load(); line != nil {
		text += "; it wrote to standard output, not an MCP message: " + *line
	}
	return text
}

func (p *serverProcess) hidden(line []byte) []byte {
	if p.hider == nil {
		return line
	}
	hidden, _ := p.hider.JSON(line)
	return hidden
}

func (p *serverProcess) readError(err error) error {
	if errors.Is(err, errTooLarge) {
		return &Fault{Reason: tooLarge(p.limit)}
	}
	select {
	case <-p.ended:
		<-p.exited
		return p.ending()
	case <-time.After(drainTime):
		return errors.New("the server closed its standard output" + p.quoted())
	}
}

// Write implements mcp.Connection. The end of ctx ends a write that the server does not read; a
// message that was sent in part ends the connection.
func (p *serverProcess) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if request, ok := message.(*jsonrpc.Request); ok {
		findExchange(ctx).begin(request.Method)
	}
	return p.writeLine(ctx, data)
}

// writeLine writes a line to the server's input, as Write does.
func (p *serverProcess) writeLine(ctx context.Context, data []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = p.input.SetWriteDeadline(time.Now()) })
	n, err := p.input.Write(append(data, '\n'))
	if n > 0 {
		findExchange(ctx).markSent()
	}
	if stop() {
		return err
	}
	if err != nil && n > 0 {
		p.kill()
		return err
	}
	_ = p.input.SetWriteDeadline(time.Time{})
	return err
}

// Close implements mcp.Connection: it closes the server's input, gives it a moment to end and then
// ends its group.
func (p *serverProcess) Close() error {
	p.closing.Do(func() {
		_ = p.input.Close()
		moment := time.NewTimer(closeGrace)
		defer moment.Stop()
		select {
		case <-p.ended:
		case <-moment.C:
			process.End(p.cmd, p.ended)
		}
		<-p.exited
		_ = p.output.Close()
	})
	return nil
}

// kill kills the server's process group.
func (p *serverProcess) kill() {
	select {
	case <-p.ended:
	default:
		process.KillGroup(p.cmd)
	}
}

var errTooLarge = errors.New("the message is too large")

func tooLarge(limit int) string {
	return fmt.Sprintf("sent a message of more than %d bytes",
		limit)
}

// readLine returns the next line that is not empty, without its end; of more than limit bytes it is
// errTooLarge.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errTooLarge
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		case len(trimLine(line)) > 0:
			return trimLine(line), nil
		default:
			line = line[:0]
		}
	}
}

func trimLine(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// failed returns why nothing more can be read; nil as long as something can.
func (p *serverProcess) failed() error {
	if p == nil {
		return nil
	}
	if failure := p.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

func (p *serverProcess) ending() error {
	return fmt.Errorf("the server %s%s", process.DescribeEnd(p.cmd), p.quoted())
}
