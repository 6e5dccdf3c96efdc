package conversation

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"pgregory.net/rapid"
)

// story is a run's conversation as its workflow stores it: what model steps have received, and what
// is new since.
type story struct {
	messages []api.Message
	chain    string
	sent     int
	sentHash string
	fresh    []string
}

func (s *story) add(m api.Message) {
	s.messages = append(s.messages[:len(s.messages):len(s.messages)], m)
	s.chain = api.NextChain(s.chain, m.Digest())
	s.fresh = append(s.fresh[:len(s.fresh):len(s.fresh)], m.Digest())
}

func (s *story) markSent() { s.sent, s.sentHash, s.fresh = len(s.messages), s.chain, nil }

func (s *story) request(run string) api.ModelRequest {
	return api.ModelRequest{Run: run, Turn: 1, Chain: s.sentHash, Seen: s.sent, New: s.fresh}
}

func toolMessage(n int) api.Message {
	return api.Message{Role: api.RoleTool, CallID: fmt.Sprintf("%d.1", n), Text: strings.Repeat("x",
		n%50)}
}

// bench is the store of one process and the run that it queries.
type bench struct {
	*Store
	run *activitytest.Run
}

func newBench(runs int) *bench {
	run := &activitytest.Run{}
	return &bench{New(Config{Client: run, CacheRuns: runs}), run}
}

// talkBench returns a process whose memory holds few runs and that queries pages of few messages.
func talkBench(t testing.TB, s *story, pageSize int) *bench {
	b := newBench(2)
	b.run.Page = func(from int) api.Page {
		to := min(from+pageSize, len(s.messages))
		from = min(from, to)
		return api.Page{From: from, Messages: api.Pack(s.messages[from:to]), Total: len(s.messages)}
	}
	return b
}

// In any order of local and remote messages, evictions, resets and repeated steps, a model step
// gets exactly its run's conversation, and the run is queried only for what the process cannot
// know.
func TestMessages_EqualTheRunsConversation(t *testing.T) {
	ctx := activitytest.Context(t)
	rapid.Check(t, func(t *rapid.T) {
		s := &story{}
		b := talkBench(&testing.T{}, s, rapid.IntRange(1, 5).Draw(t, "page"))
		n, known := 0, true
		past := []story{*s}
		message := func() api.Message {
			n++
			return toolMessage(n)
		}
		check := func() {
			before := b.run.Queries.Load()
			got, err := b.Messages(ctx, s.request("r"))
			if err != nil || len(got) != len(s.messages) || len(got) > 0 && !reflect.DeepEqual(got,
				s.messages) {
				t.Fatalf("got %d messages, %v; want %d", len(got), err, len(s.messages))
			}
			if asked := b.run.Queries.Load() - before; known && asked > 0 {
				t.Fatalf("%d queries for messages that this process has", asked)
			}
			known = true
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				*s = story{}
				s.add(message())
				s.markSent()
				b.runs.begin("r", &api.Setup{}, s.messages)
				past, known = []story{*s}, true
			},
			"produced": func(*rapid.T) {
				s.add(message())
				b.runs.keep("r", s.messages[len(s.messages)-1])
			},
			"foreign": func(*rapid.T) {
				s.add(message())
				known = false
			},
			"forgotten": func(*rapid.T) {
				b.runs.setup("other")
				b.runs.setup("another")
				known = known && len(s.messages) == 0
			},
			"reset": func(t *rapid.T) {
				*s = past[rapid.IntRange(0, len(past)-1).Draw(t, "to")]
				known = false
			},
			"step elsewhere": func(*rapid.T) {
				s.markSent()
				s.add(message())
				past, known = append(past, *s), false
			},
			"continue as new": func(*rapid.T) {
				// A message that is no longer referenced has to be queried once.
				known = known && len(s.fresh) == 0
				s.markSent()
			},
			"step fails": func(*rapid.T) { check() },
			"step": func(*rapid.T) {
				check()
				s.markSent()
				s.add(message())
				b.runs.keep("r", s.messages[len(s.messages)-1])
				past = append(past, *s)
			},
		})
		check()
	})
}

// Two workers that take turns with one run query it for the other's messages, not for the whole
// conversation.
func TestMessages_QueryOnlyWhatIsMissing(t *testing.T) {
	ctx, s := activitytest.Context(t), &story{}
	b := talkBench(t, s, 1)
	for turn := range 20 {
		s.add(toolMessage(turn))
		s.markSent()
		if turn%2 == 0 {
			continue // the other worker's turn
		}
		before := b.run.Queries.Load()
		if _, err := b.Messages(ctx, s.request("r")); err != nil ||
			b.run.Queries.Load()-before != 2 {
			t.Fatalf("turn %d: %d queries for 2 messages, %v", turn, b.run.Queries.Load()-before,
				err)
		}
	}
}

// A run that is evicted while its pages are fetched costs only memory: the conversation is
// complete.
func TestMessages_SurviveEvictionDuringFetch(t *testing.T) {
	ctx, s := activitytest.Context(t), &story{}
	for n := range 10 {
		s.add(toolMessage(n))
	}
	s.markSent()
	b := talkBench(t, s, 3)
	page := b.run.Page
	b.run.Page = func(from int) api.Page {
		for _, other := range []string{"a", "b", "c"} {
			b.runs.setup(other)
		}
		return page(from)
	}
	if got, err := b.Messages(ctx, s.request("r")); err != nil || !reflect.DeepEqual(got,
		s.messages) {
		t.Fatalf("got %d messages, %v", len(got), err)
	}
}

// A run that lacks the conversation, has another one, or cannot be queried fails the step: a model
// never gets another conversation.
func TestMessages_RejectAnotherConversation(t *testing.T) {
	ctx, s := activitytest.Context(t), &story{}
	for n := range 4 {
		s.add(toolMessage(n))
	}
	b := talkBench(t, s, 2)
	request := s.request("r")
	request.New = append(slices.Clone(request.New), "more")
	if _, err := b.Messages(ctx, request); err == nil || err.Error() != "the run has 4 messages, and the model step names 5" {
		t.Errorf("got %v", err)
	}
	request = s.request("r")
	request.New = append(slices.Clone(request.New[:3]), "other")
	for range 2 {
		if _, err := b.Messages(ctx, request); err == nil || err.Error() != "the run's conversation differs from the one that the model step names" {
			t.Errorf("got %v", err)
		}
	}
	if got, err := b.Messages(ctx, s.request("r")); err != nil || len(got) != 4 {
		t.Errorf("after it: %d messages, %v", len(got), err)
	}
	b.run.Failure = errors.New("no such run")
	if _, err := b.Messages(ctx, s.request("r2")); err == nil ||
		err.Error() != "ask the run for "+api.ConversationQuery+": no such run" {
		t.Errorf("got %v", err)
	}
}

// The cache is bounded by runs and bytes, evicts the least recently used run first, and counts
// bytes exactly.
func TestRunCache_HoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newRunCache(rapid.IntRange(1, 5).Draw(t, "runs"), rapid.IntRange(0, 20000).Draw(t,
			"bytes"))
		stories := map[string]*story{}
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				sum := 0
				for e := c.order.Front(); e != nil; e = e.Next() {
					entry := e.Value.(*runEntry)
					want := setupWeight(entry.setup)
					for _, m := range entry.prefix.messages {
						want += weight(m)
					}
					for _, m := range entry.produced {
						want += weight(m.Message)
					}
					if entry.bytes != want || c.byRun[entry.run] != e {
						t.Fatalf("run %s counts %d bytes and has %d", entry.run, entry.bytes, want)
					}
					sum += want
				}
				if c.bytes != sum || len(c.byRun) != c.order.Len() {
					t.Fatalf("%d bytes counted, %d there; %d and %d runs", c.bytes, sum,
						len(c.byRun), c.order.Len())
				}
				if c.order.Len() > max(c.maxRuns, 1) || c.order.Len() > 1 && c.bytes > c.maxBytes {
					t.Fatalf("%d runs, %d bytes", c.order.Len(), c.bytes)
				}
			},
			"use": func(t *rapid.T) {
				run := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(t, "run")
				if stories[run] == nil {
					stories[run] = &story{}
				}
				s := stories[run]
				n++
				s.add(toolMessage(n))
				switch rapid.IntRange(0, 5).Draw(t, "what") {
				case 0:
					agent := &api.Agent{Instructions: strings.Repeat("i", n%300)}
					tools := []api.Tool{{Spec: []byte(strings.Repeat("s", n%500))}}
					c.begin(run, &api.Setup{Agent: agent,
						Pinned: api.Pack(api.Pinned{Catalog: api.Catalog{Tools: tools}})},
						s.messages)
				case 1, 2:
					c.keep(run, s.messages[len(s.messages)-1])
				case 3:
					c.known(s.request(run))
					s.markSent()
				case 4:
					whole := prefix{}
					for _, m := range s.messages {
						whole = whole.with(m, m.Digest())
					}
					c.learn(run, whole, s.fresh)
				case 5:
					c.keepSetup(run, &api.Setup{})
				}
				if c.order.Front().Value.(*runEntry).run != run {
					t.Fatalf("the run used last is not the first")
				}
			},
		})
	})
}

// A setup counts its scripts and specs.
func TestSetupWeight_CountsSpecsAndScripts(t *testing.T) {
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Text: "12345",
		Calls: []api.ScriptCall{{ArgumentsText: "1234567"}}}, {Answer: "123"}}})
	s := &api.Setup{Agent: &api.Agent{Instructions: "12", Model: api.Model{Script: &script}}}
	if got, want := setupWeight(s), 2+5+7+3+3*perMessage; got != want {
		t.Errorf("got %d; want %d", got, want)
	}
}

// Many concurrent runs, in a cache too small for them, each get their own conversation. Run it with
// -race, too.
func TestMessages_ConcurrentRuns(t *testing.T) {
	ctx := activitytest.Context(t)
	shared := newRunCache(3, 4000)
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			s := &story{}
			b := talkBench(t, s, 4)
			b.runs = shared
			// Two workers per run: an attempt that runs beside its successor.
			run := fmt.Sprint("run-", worker/2)
			for n := range 100 {
				s.add(toolMessage(n))
				shared.keep(run, s.messages[n])
				got, err := b.Messages(ctx, s.request(run))
				if err != nil || len(got) != n+1 || !reflect.DeepEqual(got[n], s.messages[n]) ||
					!reflect.DeepEqual(got[n/2], s.messages[n/2]) {
					t.Errorf("%s: %d messages, %v; want %d", run, len(got), err, n+1)
					return
				}
				s.markSent()
			}
		})
	}
	all.Wait()
}

// BenchmarkConversation takes the 1,000th turn of a run: two new messages of 1 KB after 1,000; and
// fetches all of them.
func BenchmarkConversation(b *testing.B) {
	ctx, s := activitytest.Context(b), &story{}
	text := expect.GoSource(b)[:1024]
	message := func(n int) api.Message {
		return api.Message{Role: api.RoleTool, CallID: fmt.Sprint(n), Text: text}
	}
	for n := range 1000 {
		s.add(message(n))
	}
	s.markSent()
	bench := newBench(0)
	b.Run("turn", func(b *testing.B) {
		n, s := 1000, *s
		bench.runs.begin("r", &api.Setup{}, s.messages)
		for b.Loop() {
			for range 2 {
				n++
				m := message(n)
				bench.runs.keep("r", m)
				s.fresh = append(s.fresh, m.Digest())
				s.chain = api.NextChain(s.chain, s.fresh[len(s.fresh)-1])
			}
			got, err := bench.Messages(ctx, s.request("r"))
			if err != nil || len(got) != s.sent+2 {
				b.Fatal(len(got), err)
			}
			s.sent, s.sentHash, s.fresh = len(got), s.chain, s.fresh[:0]
		}
	})
	b.Run("fetch", func(b *testing.B) {
		bench.run.Messages = s.messages
		for b.Loop() {
			bench.runs = newRunCache(1, 1<<30)
			if got, err := bench.Messages(ctx, s.request("r")); err != nil || len(got) != 1000 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		m := message(1)
		for b.Loop() {
			m.Digest()
		}
	})
}
