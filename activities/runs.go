package activities

import (
	"container/list"
	"sync"

	"github.com/switchyard/switchyard"
)

// runCache remembers, within bounds, what this process knows of runs: what they are pinned to and the messages of
// their conversations. It only saves queries: whatever is missing is asked of the run.
type runCache struct {
	maxRuns, maxBytes int

	mu    sync.Mutex
	bytes int
	order *list.List // of *runEntry, most recently used first
	byRun map[string]*list.Element
}

// runEntry is what is known of one run.
type runEntry struct {
	run   string
	setup *switchyard.Setup
	// messages is the conversation up to where it is known without gaps; chains[i] is its digest after message i.
	messages []switchyard.Message
	chains   []string
	// produced are messages that this process made and that no model step has named yet, by digest.
	produced map[string]switchyard.Message
	bytes    int
}

func newRunCache(maxRuns, maxBytes int) *runCache {
	return &runCache{maxRuns: maxRuns, maxBytes: maxBytes, order: list.New(), byRun: map[string]*list.Element{}}
}

// update calls f with what is known of the run, and then forgets the runs used longest ago until the bounds hold.
func (c *runCache) update(run string, f func(*runEntry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byRun[run]
	if ok {
		c.order.MoveToFront(element)
	} else {
		element = c.order.PushFront(&runEntry{run: run, produced: map[string]switchyard.Message{}})
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

// keep remembers a message that this process produced.
func (c *runCache) keep(run string, m switchyard.Message) {
	digest := m.Digest()
	c.update(run, func(e *runEntry) {
		if _, ok := e.produced[digest]; !ok {
			e.produced[digest] = m
			e.bytes += m.Size()
		}
	})
}

func (c *runCache) setup(run string) (setup *switchyard.Setup) {
	c.update(run, func(e *runEntry) { setup = e.setup })
	return setup
}

func (c *runCache) keepSetup(run string, s *switchyard.Setup) {
	c.update(run, func(e *runEntry) { e.setup = s })
}

// conversation returns the conversation that a model step is about, as far as it is known: whole, or its beginning,
// from which on the run has to be asked.
func (c *runCache) conversation(r switchyard.ModelRequest) (messages []switchyard.Message, whole bool) {
	c.update(r.Run, func(e *runEntry) {
		if !e.knows(r.Seen, r.Chain) {
			return
		}
		e.cut(r.Seen)
		for _, digest := range r.New {
			m, ok := e.produced[digest]
			if !ok {
				messages = e.messages
				return
			}
			e.append(m, digest)
		}
		messages, whole = e.messages, true
	})
	return messages, whole
}

// extend adds messages that the run was asked for, from index from on, and returns the conversation so far.
func (c *runCache) extend(run string, from int, fetched []switchyard.Message) (messages []switchyard.Message, chain string) {
	c.update(run, func(e *runEntry) {
		e.cut(from)
		for _, m := range fetched {
			e.append(m, m.Digest())
		}
		messages, chain = e.messages, e.chain(len(e.messages))
	})
	return messages, chain
}

// knows reports whether the first n messages are known and have the digest chain.
func (e *runEntry) knows(n int, chain string) bool {
	return n <= len(e.messages) && e.chain(n) == chain
}

func (e *runEntry) chain(n int) string {
	if n == 0 {
		return ""
	}
	return e.chains[n-1]
}

// cut forgets the messages after the first n. The slice's capacity is cut too: a reader may still hold what was there.
func (e *runEntry) cut(n int) {
	if n == len(e.messages) {
		return
	}
	for _, m := range e.messages[n:] {
		e.bytes -= m.Size()
	}
	e.messages, e.chains = e.messages[:n:n], e.chains[:n:n]
}

func (e *runEntry) append(m switchyard.Message, digest string) {
	e.chains = append(e.chains, switchyard.NextChain(e.chain(len(e.messages)), digest))
	e.messages = append(e.messages, m)
	if _, ok := e.produced[digest]; ok {
		delete(e.produced, digest)
	} else {
		e.bytes += m.Size()
	}
}
