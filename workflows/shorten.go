package workflows

import (
	"slices"

	"github.com/switchyard/switchyard/api"
)

// Of the bytes that fill the model's window, the latest turns, the task and the summary take so much at most after a
// compaction. A single turn that alone is longer than lastTurn has its texts cut.
const (
	tailShare    = 4
	lastTurn     = 2
	taskShare    = 4
	summaryShare = 8
)

// shortest is the length below which no text of a turn is cut, in bytes.
const shortest = 200

const (
	cutTask   = "the conversation would not fit into your window"
	cutInTurn = "the turn would not fit into your window; the run's record has the whole. Ask for less at a time"
)

// shortening is a conversation in the parts of which a shorter one is made: what stays at its head, what is to be summed up,
// and the latest turns.
type shortening struct {
	head, tail []api.Message
	// from, to and task are as in a Compaction.
	from, to, task int
	// older are the messages between from and to without the task.
	older []api.Message
	// taskAt is the task's index in the conversation that comes of it, -1 without one.
	taskAt int
}

// shorten splits a conversation of which frame bytes fill the model's window. task is the index of the message with what
// the run is to do; zero is the user's first one.
func shorten(messages []api.Message, task, frame int) shortening {
	s := shortening{task: taskOf(messages, task), taskAt: -1}
	for s.from < len(messages) && messages[s.from].Role == api.RoleSystem {
		s.from++
	}
	s.head = slices.Clone(messages[:s.from])
	if s.task == s.from {
		s.from++
	}
	s.to = max(latest(messages, frame/tailShare), s.from)
	s.tail = cutTexts(messages[s.to:], frame/lastTurn)
	if weigh(s.tail) > frame/lastTurn {
		// Thousands of short results: no cut makes them few.
		s.to, s.tail = len(messages), nil
	}
	for i := s.from; i < s.to; i++ {
		if i != s.task {
			s.older = append(s.older, messages[i])
		}
	}
	s.place(messages, frame)
	return s
}

// place puts the task where it stands in the shorter conversation.
func (s *shortening) place(messages []api.Message, frame int) {
	switch {
	case s.task < 0:
	case s.task >= s.to:
		s.taskAt = len(s.head) + min(len(s.older), 1) + s.task - s.to
	default:
		s.taskAt = len(s.head)
		m := messages[s.task]
		m.Text = cutWithin(m.Text, frame/taskShare, cutTask)
		s.head = append(s.head, m)
	}
}

// weight is about what the shorter conversation takes.
func (s shortening) weight(frame int) int {
	return weigh(s.head) + min(weigh(s.older), frame/summaryShare) + weigh(s.tail)
}

// taskOf returns the index of the message with what the run is to do, -1 where there is none.
func taskOf(messages []api.Message, task int) int {
	if task > 0 && task < len(messages) {
		return task
	}
	return slices.IndexFunc(messages, func(m api.Message) bool { return m.Role == api.RoleUser && !m.IsSummary() })
}

// latest returns where the latest turns begin that take limit bytes at most, but at least the last one. A turn is a message
// with all the results that it asked for.
func latest(messages []api.Message, limit int) int {
	start, weight := len(messages), 0
	for i, m := range slices.Backward(messages) {
		weight += weigh(messages[i : i+1])
		if m.Role == api.RoleTool {
			continue
		}
		if start < len(messages) && weight > limit {
			break
		}
		start = i
	}
	return start
}

// cutTexts returns messages that take about limit bytes: their longest texts and arguments are cut.
func cutTexts(messages []api.Message, limit int) []api.Message {
	if weigh(messages) <= limit {
		return slices.Clone(messages)
	}
	most := max(limit, shortest)
	for most > shortest && weighCut(messages, most) > limit {
		most = max(most/2, shortest)
	}
	cut := make([]api.Message, len(messages))
	for i, m := range messages {
		m.Text, m.Calls = cutWithin(m.Text, most, cutInTurn), slices.Clone(m.Calls)
		for n, c := range m.Calls {
			if len(c.Arguments) > most {
				m.Calls[n].Arguments = `{"left_out":"these arguments would not fit into your window"}`
			}
		}
		cut[i] = m
	}
	return cut
}

func cutWithin(text string, limit int, why string) string {
	if len(text) <= limit {
		return text
	}
	return api.CutText(text, limit, why)
}

// perMessage is about what a message, and each of its calls, takes besides its texts.
const perMessage = 16

// weigh is about how many bytes messages take in a model's window.
func weigh(messages []api.Message) (bytes int) {
	for _, m := range messages {
		bytes += m.Size() + perMessage*(1+len(m.Calls))
	}
	return bytes
}

// weighCut is weigh with no text longer than most.
func weighCut(messages []api.Message, most int) (bytes int) {
	for _, m := range messages {
		bytes += min(len(m.Text), most) + perMessage*(1+len(m.Calls))
		for _, c := range m.Calls {
			bytes += min(len(c.Arguments), most)
		}
	}
	return bytes
}
