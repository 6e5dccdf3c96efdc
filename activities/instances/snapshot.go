package instances

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
)

const (
	// maxSnapshot bounds an instance's snapshot, compressed, in bytes: every heartbeat of its host
	// carries it.
	maxSnapshot = 128 << 10
	// maxUnsaved bounds the size of a snapshot after decompression, in bytes.
	maxUnsaved = 256 << 20
	// snapshotCalls is how many of the latest calls a snapshot contains with their answers.
	snapshotCalls = 16
)

// snapshot is what rebuilds an instance: its saved state and the outcomes of the latest calls. A
// call that took effect but whose worker was lost before it could report is answered from the
// snapshot and not executed again.
type snapshot struct {
	state []byte
	calls []snapshotCall
}

// snapshotCall is the outcome of a call: an answer or a final failure.
type snapshotCall struct {
	ID     string          `json:"id"`
	Output json.RawMessage `json:"output,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
	Error  *api.Error      `json:"error,omitempty"`
	// Left means that the output was omitted because of its size.
	Left bool `json:"left,omitempty"`
}

// find returns the outcome of a call, if it is among the latest.
func (k snapshot) find(id string) (snapshotCall, bool) {
	i := slices.IndexFunc(k.calls, func(c snapshotCall) bool { return c.ID == id })
	if i < 0 {
		return snapshotCall{}, false
	}
	return k.calls[i], true
}

// answer returns the answer for a repeated call.
func (c snapshotCall) answer() (executor.Answer, error) {
	switch {
	case c.Error != nil && c.Error.NotStarted:
		return executor.Answer{}, executor.NotStarted(c.Error)
	case c.Error != nil && c.Error.Unclear:
		return executor.Answer{}, executor.Unclear(c.Error)
	case c.Error != nil:
		return executor.Answer{}, c.Error
	case c.Left:
		return executor.Answer{}, api.Errorf(api.ErrOutcomeUnknown,
			"the call took effect, but its result was too large for a snapshot and was lost with its worker")
	}
	return executor.Answer{Output: c.Output, Notes: c.Notes}, nil
}

// with returns k extended by one call.
func (k snapshot) with(c snapshotCall) snapshot {
	calls := append(slices.Clone(k.calls), c)
	k.calls = calls[max(0, len(calls)-snapshotCalls):]
	return k
}

// packedSnapshot is the form of a snapshot in heartbeats before compression. Its names never
// change, because later versions read it.
type packedSnapshot struct {
	State []byte
	Calls []byte // JSON
}

// tooLargeError reports a state that is too large for a snapshot.
type tooLargeError struct{ size int }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("its state takes %d bytes compressed; at most %d are saved", e.size,
		maxSnapshot)
}

// pack returns k compressed. If it is too large, pack omits outputs of calls, the oldest first.
func (k snapshot) pack() ([]byte, error) {
	calls := slices.Clone(k.calls)
	for left := 0; ; left++ {
		packed, err := compressSnapshot(k.state, calls)
		if err != nil || len(packed) <= maxSnapshot {
			return packed, err
		}
		if left == len(calls) {
			return nil, tooLargeError{len(packed)}
		}
		c := &calls[left]
		c.Output, c.Notes, c.Left = nil, nil, c.Error == nil
	}
}

func compressSnapshot(state []byte, calls []snapshotCall) ([]byte, error) {
	list, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	// Close flushes the compressed data.
	err = errors.Join(gob.NewEncoder(w).Encode(packedSnapshot{State: state, Calls: list}),
		w.Close())
	return b.Bytes(), err
}

// unpackSnapshot reads the output of pack.
func unpackSnapshot(data []byte) (snapshot, error) {
	var p packedSnapshot
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		// read to the end, which verifies the checksum
		if plain, err = io.ReadAll(io.LimitReader(r, maxUnsaved)); err == nil {
			err = gob.NewDecoder(bytes.NewReader(plain)).Decode(&p)
		}
	}
	if err != nil {
		return snapshot{}, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	k := snapshot{state: p.State}
	if err := json.Unmarshal(p.Calls, &k.calls); err != nil {
		return snapshot{}, fmt.Errorf("the calls of the snapshot cannot be read: %w", err)
	}
	return k, nil
}
