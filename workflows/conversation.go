package workflows

import (
	"github.com/switchyard/switchyard/api"
)

// conversation is the run's messages. They live in the workflow's memory, reach model steps by query, and never stand
// in an activity's input: history would grow with the square of the run.
type conversation struct {
	messages []api.Message
	chain    string
	// seen is how many messages the model steps so far were told of; fresh has the digests of the rest.
	runFacts  int
	seenChain string
	fresh     []string
}

func (c *conversation) add(m api.Message) {
	digest := m.Digest()
	c.messages = append(c.messages, m)
	c.chain = api.NextChain(c.chain, digest)
	c.fresh = append(c.fresh, digest)
}

// replace makes these the conversation's messages from here on. Processes that know the earlier ones ask for them by query.
func (c *conversation) replace(messages []api.Message) {
	*c = conversation{}
	for _, m := range messages {
		c.add(m)
	}
	c.markSeen()
}

// markSeen makes all messages so far ones that a process either has or asks for by query.
func (c *conversation) markSeen() {
	c.runFacts, c.seenChain, c.fresh = len(c.messages), c.chain, nil
}

// size is about how many bytes the messages take.
func (c *conversation) size() int {
	total := 0
	for _, m := range c.messages {
		total += m.Size()
	}
	return total
}

// page answers the conversation query.
func (r *agentRun) page(from int) (api.Page, error) {
	page := api.PageOf(r.conversation.messages, from)
	page.Turn = r.turn
	page.Labels = r.labels()
	return page, nil
}

// labels are those that the run has seen by now.
func (r *agentRun) labels() []string {
	if r.pipeline == nil {
		return r.loaded
	}
	return r.pipeline.runFacts.labels
}
