package conversation

import (
	"github.com/switchyard/switchyard/api"
)

// Conversation is the run's messages. They live in the workflow's memory, reach model steps by
// query, and never stand in an activity's input: history would grow with the square of the run.
type Conversation struct {
	Messages []api.Message
	chain    string
	// Seen is how many messages the model steps so far were told of; fresh has the digests of the
	// rest.
	Seen      int
	SeenChain string
	Fresh     []string
}

func (c *Conversation) Add(m api.Message) {
	digest := m.Digest()
	c.Messages = append(c.Messages, m)
	c.chain = api.NextChain(c.chain, digest)
	c.Fresh = append(c.Fresh, digest)
}

// Replace makes these the conversation's messages from here on. Processes that know the earlier
// ones ask for them by query.
func (c *Conversation) Replace(messages []api.Message) {
	*c = Conversation{}
	for _, m := range messages {
		c.Add(m)
	}
	c.MarkSeen()
}

// MarkSeen makes all messages so far ones that a process either has or asks for by query.
func (c *Conversation) MarkSeen() {
	c.Seen, c.SeenChain, c.Fresh = len(c.Messages), c.chain, nil
}

// Size is about how many bytes the messages take.
func (c *Conversation) Size() int {
	total := 0
	for _, m := range c.Messages {
		total += m.Size()
	}
	return total
}
