package activities

import (
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxSpecs bounds the number of cached compiled specs.
const maxSpecs = 4096

// specs caches compiled tool specs by digest: compiling takes a thousand times as long as
// validating.
type specs struct {
	mu       sync.RWMutex
	byDigest map[string]*toolspecs.Compiled
}

func newSpecs() *specs { return &specs{byDigest: map[string]*toolspecs.Compiled{}} }

func (s *specs) get(digest string) (*toolspecs.Compiled, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.byDigest[digest]
	return c, ok
}

func (s *specs) put(digest string, c *toolspecs.Compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byDigest) >= maxSpecs {
		clear(s.byDigest)
	}
	s.byDigest[digest] = c
}

// of returns the compiled spec of a pinned tool.
func (s *specs) of(t api.Tool) (*toolspecs.Compiled, error) {
	if c, ok := s.get(t.Digest); ok {
		return c, nil
	}
	c, err := toolspecs.FromTool(t)
	if err != nil {
		return nil, err
	}
	s.put(t.Digest, c)
	return c, nil
}
