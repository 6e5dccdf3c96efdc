package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Caller is the tool's side of a visit: the witness counts the call as running until Done or
// Stopped returns, or the process ends.
type Caller struct {
	conn net.Conn
	// words are those of the witness; it is closed when the witness is gone.
	words chan string
}

// Begin reports to the witness at address that a call starts, and returns when the witness has
// recorded it.
func Begin(ctx context.Context, address string, v Visit) (*Caller, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reach the witness: %w", err)
	}
	c := &Caller{conn: conn, words: make(chan string, 4)}
	go c.listen()
	if err := json.NewEncoder(conn).Encode(v); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, c.expect(wordStarted)
}

func (c *Caller) listen() {
	defer close(c.words)
	lines := bufio.NewScanner(c.conn)
	for lines.Scan() {
		c.words <- lines.Text()
	}
}

// expect returns when the witness has sent one of the words; a gate that opens meanwhile is
// forgotten.
func (c *Caller) expect(wanted ...string) error {
	_, err := c.answer(wanted...)
	return err
}

func (c *Caller) answer(wanted ...string) (string, error) {
	for word := range c.words {
		for _, w := range wanted {
			if word == w {
				return word, nil
			}
		}
	}
	return "", fmt.Errorf("the witness is gone; it should have sent %s",
		strings.Join(wanted, " or "))
}

// Wait returns after d; for a call with a gate, when the gate opens; or when ctx ends, with its
// cause.
func (c *Caller) Wait(ctx context.Context, d time.Duration, gate bool) error {
	if gate {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case word := <-c.words:
			if word != wordGo {
				return fmt.Errorf("the witness sent %q at a gate", word)
			}
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Write writes to the resource that the lane protects and reports whether it was accepted.
func (c *Caller) Write() (bool, error) {
	send(c.conn, wordWrite)
	word, err := c.answer(wordAccepted, wordRefused)
	return word == wordAccepted, err
}

// Over reports that the tool has noticed the end of its context.
func (c *Caller) Over() { send(c.conn, wordOver) }

// Done reports the end of the call, Stopped that its context ended before; both end the visit.
func (c *Caller) Done() error { return c.end(wordDone) }

// ReportStopped is described with Done.
func (c *Caller) ReportStopped() error {
	c.Over()
	return c.end(wordStopped)
}

func (c *Caller) end(word string) error {
	send(c.conn, word)
	return errors.Join(c.expect(wordNoted), c.conn.Close())
}
