package activities

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
	// maxKept bounds what is kept of an instance, compressed: every heartbeat of its hold carries
	// it.
	maxSnapshot = 128 << 10
	// maxUnkept bounds what it may grow to when it is read again.
	maxUnsaved = 256 << 20
	// keptCalls is how many of the latest calls are kept with their answers.
	snapshotCalls = 16
)

// kept is what rebuilds an instance: its last snapshot, and how the latest calls ended. A call that
// took effect and whose worker was lost before it could report is answered from there, not executed
// again.
type snapshot struct {
	state []byte
	calls []snapshotCall
}

// keptCall is how a call ended: with an answer or a failure that is final.
type snapshotCall struct {
	ID     string          `json:"id"`
	Output json.RawMessage `json:"output,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
	Error  *api.Error      `json:"error,omitempty"`
	// Left says that the output was left out, because it is large.
	Left bool `json:"left,omitempty"`
}

// find returns how a call ended, if it is among the latest.
func (k snapshot) find(id string) (snapshotCall, bool) {
	i := slices.IndexFunc(k.calls, func(c snapshotCall) bool { return c.ID == id })
	if i < 0 {
		return snapshotCall{}, false
	}
	return k.calls[i], true
}

// answer is what the call is answered with when it comes again.
func (c snapshotCall) answer() (executor.Answer, error) {
	switch {
	case c.Error != nil:
		return executor.Answer{}, c.Error
	case c.Left:
		return executor.Answer{}, api.Errorf(api.ErrOutcomeUnknown,
			"the call took effect, but its result, which was too large to be kept, was lost with its worker")
	}
	return executor.Answer{Output: c.Output, Notes: c.Notes}, nil
}

// with returns k after one more call.
func (k snapshot) with(c snapshotCall) snapshot {
	calls := append(slices.Clone(k.calls), c)
	k.calls = calls[max(0, len(calls)-snapshotCalls):]
	return k
}

// packedKept is the form of kept in heartbeats, before compression. Its names never change: they
// are read by later versions.
type packedSnapshot struct {
	State []byte
	Calls []byte // JSON
}

// tooLargeError says that a state cannot be kept.
type tooLargeError struct{ size int }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("its state takes %d bytes compressed, and at most %d are kept", e.size,
		maxSnapshot)
}

// pack returns k compressed. Outputs of the calls are left out, the oldest first, where it would be
// too large with them.
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
	// Closing the writer is what writes the last of it.
	err = errors.Join(gob.NewEncoder(w).Encode(packedSnapshot{State: state, Calls: list}),
		w.Close())
	return b.Bytes(), err
}

// unpackKept reads what pack wrote.
func unpackSnapshot(data []byte) (snapshot, error) {
	var p packedSnapshot
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		// all of it, for the checksum
		if plain, err = io.ReadAll(io.LimitReader(r, maxUnsaved)); err == nil {
			err = gob.NewDecoder(bytes.NewReader(plain)).Decode(&p)
		}
	}
	if err != nil {
		return snapshot{}, fmt.Errorf("the kept state cannot be read: %w", err)
	}
	k := snapshot{state: p.State}
	if err := json.Unmarshal(p.Calls, &k.calls); err != nil {
		return snapshot{}, fmt.Errorf("the kept calls cannot be read: %w", err)
	}
	return k, nil
}
