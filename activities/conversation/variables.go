package conversation

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/switchyard/switchyard/api"
)

// maxVariables bounds the cached variables of runs, in bytes.
const maxVariables = 32 << 20

// variables caches the variables of runs that do not pass them with every call, as JSON by digest.
type variables struct {
	mu       sync.Mutex
	byDigest map[string]json.RawMessage
	bytes    int
}

// RestoreVariables sets the variables of an origin that has only their digest. It returns an error
// if the run for which ctx executes cannot be queried.
func (s *Store) RestoreVariables(ctx context.Context, o *api.Origin) error {
	if o.VariablesDigest == "" {
		return nil
	}
	data, ok := s.variables.get(o.VariablesDigest)
	if !ok {
		if err := s.ask(ctx, &data, api.VariablesQuery); err != nil {
			return err
		}
		s.variables.put(o.VariablesDigest, data)
	}
	return json.Unmarshal(data, &o.Variables)
}

func (v *variables) get(digest string) (json.RawMessage, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	data, ok := v.byDigest[digest]
	return data, ok
}

func (v *variables) put(digest string, data json.RawMessage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byDigest == nil || v.bytes+len(data) > maxVariables {
		v.byDigest, v.bytes = map[string]json.RawMessage{}, 0
	}
	if _, ok := v.byDigest[digest]; !ok {
		v.byDigest[digest] = data
		v.bytes += len(data)
	}
}
