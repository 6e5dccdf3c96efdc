// Package specs caches the compiled toolspecs of one worker process.
package specs

import (
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxSpecs bounds the number of cached compiled specs.
const maxSpecs = 4096

// Cache caches compiled toolspecs by digest: compiling takes a thousand times as long as
// validating.
type Cache struct {
	mu       sync.RWMutex
	byDigest map[string]*toolspecs.Compiled
}

// New returns an empty cache.
func New() *Cache { return &Cache{byDigest: map[string]*toolspecs.Compiled{}} }

// Get returns the compiled toolspec with a digest, and whether it is cached.
func (s *Cache) Get(digest string) (*toolspecs.Compiled, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.byDigest[digest]
	return c, ok
}

// Put caches a compiled toolspec under its digest.
func (s *Cache) Put(digest string, c *toolspecs.Compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byDigest) >= maxSpecs {
		clear(s.byDigest)
	}
	s.byDigest[digest] = c
}

// Of returns the compiled toolspec of a pinned tool. It returns an error if the toolspec cannot be
// compiled by this version of the worker.
func (s *Cache) Of(t api.Tool) (*toolspecs.Compiled, error) {
	if c, ok := s.Get(t.Digest); ok {
		return c, nil
	}
	c, err := toolspecs.FromTool(t)
	if err != nil {
		return nil, err
	}
	s.Put(t.Digest, c)
	return c, nil
}
