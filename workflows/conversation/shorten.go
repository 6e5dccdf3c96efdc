package conversation

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Of the bytes that fill the model's window, the latest turns, the task and the summary take so
// much at most after a compaction. A single turn that alone is longer than lastTurn has its texts
// cut.
const (
	tailShare    = 4
	lastTurn     = 2
	taskShare    = 4
	SummaryShare = 8
)

// shortest is the length below which no text of a turn is cut, in bytes.
const shortest = 200

const (
	CutTask   = "the conversation would not fit into your window"
	cutInTurn = "the turn would not fit into your window; the run's record has the whole. Ask for less at a time"
)

// Shortening is a conversation in the parts of which a shorter one is made: what stays at its head,
// what is to be summed up, and the latest turns.
type Shortening struct {
	Head, Tail []api.Message
	// From, to and task are as in a Compaction.
	From, To, Task int
	// Older are the messages between from and to without the task.
	Older []api.Message
	// TaskAt is the task's index in the conversation that comes of it, -1 without one.
	TaskAt int
}

// Shorten splits a conversation of which frame bytes fill the model's window. task is the index of
// the message with what the run is to do; zero is the user's first one.
func Shorten(messages []api.Message, task, frame int) Shortening {
	s := Shortening{Task: findTask(messages, task), TaskAt: -1}
	for s.From < len(messages) && messages[s.From].Role == api.RoleSystem {
		s.From++
	}
	s.Head = slices.Clone(messages[:s.From])
	if s.Task == s.From {
		s.From++
	}
	s.To = max(latest(messages, frame/tailShare), s.From)
	s.Tail = cutTexts(messages[s.To:], frame/lastTurn)
	if Weigh(s.Tail) > frame/lastTurn {
		// Thousands of short results: no cut makes them few.
		s.To, s.Tail = len(messages), nil
	}
	for i := s.From; i < s.To; i++ {
		if i != s.Task {
			s.Older = append(s.Older, messages[i])
		}
	}
	s.place(messages, frame)
	return s
}

// place puts the task where it stands in the shorter conversation.
func (s *Shortening) place(messages []api.Message, frame int) {
	switch {
	case s.Task < 0:
	case s.Task >= s.To:
		s.TaskAt = len(s.Head) + min(len(s.Older), 1) + s.Task - s.To
	default:
		s.TaskAt = len(s.Head)
		m := messages[s.Task]
		m.Text = CutWithin(m.Text, frame/taskShare, CutTask)
		s.Head = append(s.Head, m)
	}
}

// Weight is about what the shorter conversation takes.
func (s Shortening) Weight(frame int) int {
	return Weigh(s.Head) + min(Weigh(s.Older), frame/SummaryShare) + Weigh(s.Tail)
}

// findTask returns the index of the message with what the run is to do, -1 where there is none.
func findTask(messages []api.Message, task int) int {
	if task > 0 && task < len(messages) {
		return task
	}
	return slices.IndexFunc(messages, func(m api.Message) bool {
		return m.Role == api.RoleUser &&
			!m.IsSummary()
	})
}

// latest returns where the latest turns begin that take limit bytes at most, but at least the last
// one. A turn is a message with all the results that it asked for.
func latest(messages []api.Message, limit int) int {
	start, weight := len(messages), 0
	for i, m := range slices.Backward(messages) {
		weight += Weigh(messages[i : i+1])
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
	if Weigh(messages) <= limit {
		return slices.Clone(messages)
	}
	most := max(limit, shortest)
	for most > shortest && weighCut(messages, most) > limit {
		most = max(most/2, shortest)
	}
	cut := make([]api.Message, len(messages))
	for i, m := range messages {
		m.Text, m.Calls, m.Native = CutWithin(m.Text, most, cutInTurn), slices.Clone(m.Calls), nil
		for n, c := range m.Calls {
			if len(c.Arguments) > most {
				m.Calls[n].Arguments = `{"left_out":"these arguments would not fit into your window"}`
			}
		}
		cut[i] = m
	}
	return cut
}

func CutWithin(text string, limit int, why string) string {
	if len(text) <= limit {
		return text
	}
	return display.Cut(text, limit, why)
}

// perMessage is about what a message, and each of its calls, takes besides its texts.
const perMessage = 16

// Weigh is about how many bytes messages take in a model's window.
func Weigh(messages []api.Message) (bytes int) {
	for _, m := range messages {
		bytes += m.TextSize() + perMessage*(1+len(m.Calls))
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
