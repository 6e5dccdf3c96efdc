// Package setups decodes what runs are pinned to, so that equal setups are in memory once.
package setups

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/api"
)

// Bounds of the setups that runs share: their number, and the bytes of their recorded JSON, which
// is compressed if it is large.
const (
	maxShared      = 64
	maxSharedBytes = 1 << 20
)

// Shared are the setups that a process decoded last. The zero value has none.
type Shared struct {
	mu     sync.Mutex
	setups []setup // the one used last first
}

// setup is the setup of one recorded JSON.
type setup struct {
	digest [sha256.Size]byte
	bytes  int
	pinned api.Pinned
}

// Decode returns the setup of a run from its recorded JSON. Runs with the same JSON, such as those
// of one agent, share its tools and rules in memory, so these must not be changed. The result does
// not depend on what is shared, because a workflow uses it.
func (s *Shared) Decode(recorded []byte) (api.Pinned, error) {
	digest := sha256.Sum256(recorded)
	if pinned, ok := s.find(digest); ok {
		return pinned, nil
	}
	var pinned api.Packed[api.Pinned]
	if err := json.Unmarshal(recorded, &pinned); err != nil {
		return api.Pinned{}, err
	}
	s.add(setup{digest, len(recorded), pinned.Value})
	return pinned.Value, nil
}

// find returns the setup with that digest and puts it first.
func (s *Shared) find(digest [sha256.Size]byte) (api.Pinned, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.setups, func(x setup) bool { return x.digest == digest })
	if i < 0 {
		return api.Pinned{}, false
	}
	found := s.setups[i]
	copy(s.setups[1:i+1], s.setups[:i])
	s.setups[0] = found
	return found.pinned, true
}

// add puts a setup first and drops the last ones beyond the bounds. A setup that exceeds them alone
// is not shared.
func (s *Shared) add(x setup) {
	if x.bytes > maxSharedBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setups = slices.Insert(s.setups, 0, x)
	n, bytes := 0, 0
	for n < min(len(s.setups), maxShared) {
		if bytes += s.setups[n].bytes; bytes > maxSharedBytes {
			break
		}
		n++
	}
	s.setups = slices.Delete(s.setups, n, len(s.setups))
}
