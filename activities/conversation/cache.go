package conversation

import (
	"container/list"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/api"
)

// runCache is a bounded cache of runs: what they are pinned to and the messages of their
// conversations. It only saves queries: missing parts are queried from the run. It keeps the most
// recently used run whatever its size.
type runCache struct {
	maxRuns, maxBytes int

	mu    sync.Mutex
	bytes int
	order *list.List // of *runEntry, most recently used first
	byRun map[string]*list.Element
}

// prefix is the beginning of a conversation, or all of it; chains[i] is its digest after message i.
// Neither slice is modified after it is shared.
type prefix struct {
	messages []api.Message
	chains   []string
}

// chain returns the digest of the first n messages.
func (t prefix) chain(n int) string {
	if n == 0 {
		return ""
	}
	return t.chains[n-1]
}

// first returns the first n messages with their capacity clipped, so that an append copies them.
func (t prefix) first(n int) prefix { return prefix{t.messages[:n:n], t.chains[:n:n]} }

func (t prefix) with(m api.Message, digest string) prefix {
	chain := api.NextChain(t.chain(len(t.messages)), digest)
	return prefix{append(t.messages, m), append(t.chains, chain)}
}

// runEntry is the cache entry of one run.
type runEntry struct {
	run   string
	setup *api.Setup
	// prefix is the part of the conversation that is known without gaps.
	prefix prefix
	// produced are messages of this process that no model step has named yet.
	produced []digested
	bytes    int
}

// digested is a message with its digest.
type digested struct {
	digest string
	api.Message
}

func newRunCache(maxRuns, maxBytes int) *runCache {
	return &runCache{maxRuns: maxRuns, maxBytes: maxBytes, order: list.New(),
		byRun: map[string]*list.Element{}}
}

// update calls f with a run's entry, and then evicts the least recently used runs until the bounds
// hold.
func (c *runCache) update(run string, f func(*runEntry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byRun[run]
	if ok {
		c.order.MoveToFront(element)
	} else {
		element = c.order.PushFront(&runEntry{run: run})
		c.byRun[run] = element
	}
	entry := element.Value.(*runEntry)
	before := entry.bytes
	f(entry)
	c.bytes += entry.bytes - before
	for c.order.Len() > 1 && (c.order.Len() > c.maxRuns || c.bytes > c.maxBytes) {
		oldest := c.order.Remove(c.order.Back()).(*runEntry)
		delete(c.byRun, oldest.run)
		c.bytes -= oldest.bytes
	}
}

// begin stores what a run is pinned to and its first messages.
func (c *runCache) begin(run string, s *api.Setup, messages []api.Message) {
	c.update(run, func(e *runEntry) {
		e.keepSetup(s)
		e.cut(0)
		for _, m := range messages {
			e.append(m, m.Digest())
		}
	})
}

// keep stores a message that this process produced.
func (c *runCache) keep(run string, m api.Message) {
	digest := m.Digest()
	c.update(run, func(e *runEntry) {
		if e.place(digest) < 0 {
			e.produced = append(e.produced, digested{digest, m})
			e.bytes += weight(m)
		}
	})
}

func (c *runCache) setup(run string) (setup *api.Setup) {
	c.update(run, func(e *runEntry) { setup = e.setup })
	return setup
}

func (c *runCache) keepSetup(run string, s *api.Setup) {
	c.update(run, func(e *runEntry) { e.keepSetup(s) })
}

// known returns the cached part of a model step's conversation. If that is less than earlier steps
// saw, it may predate a reset of the run, which shows only when the rest is fetched.
func (c *runCache) known(r api.ModelRequest) (known prefix) {
	c.update(r.Run, func(e *runEntry) {
		switch {
		case r.Seen > len(e.prefix.messages):
		case e.prefix.chain(r.Seen) == r.Chain:
			e.follow(r)
		default:
			e.cut(0)
		}
		known = e.prefix.first(min(len(e.prefix.messages), r.Seen+len(r.New)))
	})
	return known
}

// learn stores a conversation that is verified to be the run's; fetched are the digests of the
// messages that were queried.
func (c *runCache) learn(run string, t prefix, fetched []string) {
	c.update(run, func(e *runEntry) {
		e.cut(0)
		for _, digest := range fetched {
			e.take(digest)
		}
		e.prefix = t
		for _, m := range t.messages {
			e.bytes += weight(m)
		}
	})
}

// follow extends the conversation by the new messages of a model step, up to the first unknown one.
func (e *runEntry) follow(r api.ModelRequest) {
	for i, digest := range r.New {
		at := r.Seen + i
		if at < len(e.prefix.messages) {
			if e.prefix.chains[at] == api.NextChain(e.prefix.chain(at), digest) {
				continue
			}
			e.cut(at)
		}
		m, ok := e.take(digest)
		if !ok {
			return
		}
		e.append(m, digest)
	}
}

// place returns the index of a message that this process produced, or -1.
func (e *runEntry) place(digest string) int {
	return slices.IndexFunc(e.produced, func(d digested) bool { return d.digest == digest })
}

// take returns and removes a message that this process produced.
func (e *runEntry) take(digest string) (api.Message, bool) {
	i := e.place(digest)
	if i < 0 {
		return api.Message{}, false
	}
	m := e.produced[i].Message
	e.produced = slices.Delete(e.produced, i, i+1)
	e.bytes -= weight(m)
	return m, true
}

// cut removes the messages after the first n.
func (e *runEntry) cut(n int) {
	for _, m := range e.prefix.messages[n:] {
		e.bytes -= weight(m)
	}
	e.prefix = e.prefix.first(n)
}

func (e *runEntry) append(m api.Message, digest string) {
	e.prefix = e.prefix.with(m, digest)
	e.bytes += weight(m)
}

func (e *runEntry) keepSetup(s *api.Setup) {
	e.bytes += setupWeight(s) - setupWeight(e.setup)
	e.setup = s
}

// perMessage estimates a message's memory besides its texts, in bytes: its fields and its digest.
const perMessage = 160

func weight(m api.Message) int { return m.Size() + perMessage*(1+len(m.Calls)) }

// setupWeight estimates the memory of a setup, in bytes. Tool specs, instructions and scripts take
// nearly all of it.
func setupWeight(s *api.Setup) (n int) {
	if s == nil {
		return 0
	}
	for _, t := range slices.Concat(s.Pinned.Value.Catalog.Tools, s.Pinned.Value.DescendantTools) {
		n += len(t.Spec)
	}
	if s.Agent == nil {
		return n
	}
	n += len(s.Agent.Instructions)
	if s.Agent.Model.Script == nil {
		return n
	}
	for _, step := range s.Agent.Model.Script.Value.Steps {
		n += perMessage + len(step.Text) + len(step.Answer)
		for _, call := range step.Calls {
			n += perMessage + len(call.Arguments) + len(call.ArgumentsText)
		}
	}
	return n
}
