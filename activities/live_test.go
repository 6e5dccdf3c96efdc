package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// liveStep returns a model step whose heartbeats are passed to beat as they reach the server.
func (b *bench) liveStep(t *testing.T, turn int, beat func(api.Live)) error {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterActivityWithOptions(func(ctx context.Context) (api.ModelResponse, error) {
		return b.ModelStep(ctx, api.ModelRequest{Run: "r", Turn: turn,
			Catalog: b.Conversations.CachedSetup("r").Pinned.Value.Catalog.Digest})
	}, activity.RegisterOptions{Name: api.ModelActivity})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var l api.Live
		if details.HasValues() {
			if err := details.Get(&l); err != nil {
				t.Error(err)
			}
		}
		beat(l)
	})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx,
			workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
				HeartbeatTimeout: time.Second})
		return workflow.ExecuteActivity(ctx, api.ModelActivity).Get(ctx, nil)
	})
	return env.GetWorkflowError()
}

// The text of a running model step is in its heartbeats: bounded ends of the text with their
// positions, which join to the whole text, in few heartbeats for any number of parts.
func TestLiveText_IsInHeartbeats(t *testing.T) {
	var mu sync.Mutex
	var beats []api.Live
	heard := make(chan struct{}, 100)
	var streamed strings.Builder
	began := time.Now()
	b := modelBench(t, api.Agent{}, func(_ context.Context, p models.Prompt) (api.ModelResponse,
		error) {
		for len(heard) < 3 {
			piece := fmt.Sprintf("piece %d: é\n", strings.Count(streamed.String(), "\n"))
			streamed.WriteString(piece)
			p.Live(piece)
			<-time.After(time.Millisecond)
		}
		return api.ModelResponse{Message: api.Message{Text: streamed.String()}}, nil
	})
	err := b.liveStep(t, 7, func(l api.Live) {
		mu.Lock()
		defer mu.Unlock()
		beats = append(beats, l)
		heard <- struct{}{}
	})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if most := int(time.Since(began)/livePace) + 1; len(beats) > most || len(beats) < 3 {
		t.Errorf("%d heartbeats, want 3 to %d", len(beats), most)
	}
	for i, l := range beats {
		if l.Turn != 7 || l.Attempt != 1 || len(l.Text) > maxLive || l.Text == "" ||
			l.Text != streamed.String()[l.From:l.Until()] {
			t.Errorf("beat %d carries %+v", i, l)
		}
		if i > 0 && l.Until() <= beats[i-1].Until() {
			t.Errorf("beat %d ends at %d, the one before at %d", i, l.Until(), beats[i-1].Until())
		}
	}
	if n := b.speaking.Load(); n != 0 {
		t.Errorf("%d steps count as speaking after the end", n)
	}
}

// A step without listeners is not streamed, and text after the end of a step is dropped.
func TestLiveText_EndsWithItsStep(t *testing.T) {
	var live []func(string)
	b := modelBench(t, api.Agent{}, func(_ context.Context, p models.Prompt) (api.ModelResponse,
		error) {
		live = append(live, p.Live)
		return api.ModelResponse{Message: api.Message{Text: "done"}}, nil
	})
	if _, err := b.step(t, api.ModelRequest{Turn: 1}, nil); err != nil || live[0] != nil {
		t.Errorf("without heartbeats a step is asked to speak, %v", err)
	}
	if err := b.liveStep(t, 2, func(l api.Live) {
		t.Errorf("a short step beats: %+v",
			l)
	}); err != nil {
		t.Fatal(err)
	}
	live[1]("too late")
	if n := b.speaking.Load(); n != 0 {
		t.Errorf("%d steps count as speaking", n)
	}
}

// The end of a text in a heartbeat has whole characters and its position, for any parts.
func TestSpeech_KeepsWholeCharacters(t *testing.T) {
	long := strings.Repeat("aé漢😀", 3000)
	cases := []struct {
		name        string
		pretokenize []string
	}{
		{"one piece", []string{"hello"}},
		{"a long one", []string{long}},
		{"letters", strings.Split(long, "")},
		{"half a character", []string{"a\xc3", "\xa9b"}},
		{"empty ones", []string{"", "a", ""}},
	}
	for _, c := range cases {
		s := &speech{turn: 1, attempt: 2}
		var whole strings.Builder
		for _, piece := range c.pretokenize {
			s.add(piece)
			whole.WriteString(executor.ValidText(piece))
		}
		l := s.live()
		if l.Attempt != 2 || l.Text != whole.String()[l.From:] || !utf8.ValidString(l.Text) ||
			len(l.Text) > maxLive || len(l.Text) < min(whole.Len(), maxLive-3) {
			t.Errorf("%s: from %d %d bytes", c.name, l.From, len(l.Text))
		}
	}
}

// If many steps of a process stream at once, each reports less often, so that all together cost the
// server no more than a few.
func TestSpeech_OfManyStepsIsBounded(t *testing.T) {
	p := &pulse{every: time.Hour, last: time.Now(), cancel: func() {},
		timer: time.AfterFunc(time.Hour, func() {}),
		due:   time.Now().Add(time.Hour)}
	var b Activities
	b.speaking.Store(10*liveSteps - 1)
	p.say(&speech{}, &b.speaking, "text")
	if wait := p.due.Sub(p.last); (wait - 10*livePace).Abs() > livePace {
		t.Errorf("the next heartbeat follows after %s", wait)
	}
	p.fallSilent(&b.speaking)
	if n := b.speaking.Load(); n != 10*liveSteps-1 {
		t.Errorf("%d steps are streaming", n)
	}
}

// History contains only the failure.
func TestLiveText_OfAFailureIsDropped(t *testing.T) {
	b := modelBench(t, api.Agent{}, func(_ context.Context, p models.Prompt) (api.ModelResponse,
		error) {
		p.Live("half an answer")
		return api.ModelResponse{}, &models.Error{Message: "cut", Permanent: true}
	})
	err := b.liveStep(t, 1, func(api.Live) {})
	if err == nil || strings.Contains(err.Error(), "half") || errors.Unwrap(err) == nil {
		t.Errorf("got %v", err)
	}
}
