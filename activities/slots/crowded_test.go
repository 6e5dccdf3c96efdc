package slots

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// For each call beyond the bound, the key with the most waiting calls loses its last one. Calls
// that have been returned often enough stay.
func TestWaitQueues_ReturnTheLastCallOfTheMostCrowdedKey(t *testing.T) {
	s := newWaitQueues()
	s.configure(waitRules{limit: 1, space: lanerules.UnboundedWait, strategy: api.StrategyFIFO,
		most: 4})
	joins := func(key string, stays bool) (p *place, found, crowded bool) {
		q := s.use(key)
		p, _ = q.join(entrant{stays: stays})
		found, crowded = s.returnSurplus(q)
		return p, found, crowded
	}
	var hot []*place
	for i := range 4 {
		p, found, crowded := joins("hot", i == 3)
		if hot = append(hot, p); found || crowded {
			t.Fatalf("call %d is one too many", i)
		}
	}
	_, found, crowded := joins("idle", false)
	if !found || crowded || len(hot[2].turn) != 1 || <-hot[2].turn != errQueueCrowded {
		t.Errorf("another key: found %t, crowded %t; the last call that does not stay waits",
			found, crowded)
	}
	s.release("hot", s.byKey["hot"])
	more, found, crowded := joins("hot", false)
	if found || !crowded || len(more.turn) != 1 || <-more.turn != errQueueCrowded {
		t.Errorf("the crowded key: found %t, crowded %t; its last call waits", found, crowded)
	}
	s.release("hot", s.byKey["hot"])
	_, found, crowded = joins("hot", true)
	if found || !crowded || len(hot[1].turn) != 1 {
		t.Errorf("calls that stay: found %t, crowded %t; another one waits", found, crowded)
	}
	if _, found, crowded = joins("hot", true); found || crowded {
		t.Errorf("a call is returned that stays: found %t, crowded %t", found, crowded)
	}
}

// Beyond its bound a semaphore issues permits one by one: at once while they find calls of other
// keys, ever more seldom while they do not.
func TestSemaphore_ProbesForCallsOfOtherKeys(t *testing.T) {
	g, now := newSemaphore(), time.Now()
	g.resize(10)
	g.probeFrom(2)
	take := func(want bool, wantWait time.Duration) {
		t.Helper()
		g.mu.Lock()
		defer g.mu.Unlock()
		if taken, wait := g.take(now); taken != want || wait != wantWait {
			t.Errorf("taken %t, wait %s; want %t, %s", taken, wait, want, wantWait)
		}
	}
	for range 3 { // the third is a probe
		take(true, 0)
	}
	take(false, minProbe)
	g.recordProbe(true, false, now)
	take(true, 0)
	for _, pause := range []time.Duration{minProbe, 2 * minProbe, 4 * minProbe} {
		g.recordProbe(false, true, now)
		take(false, pause)
		now = now.Add(pause)
		take(true, 0)
		take(false, pause)
	}
	for range 20 {
		g.recordProbe(false, true, now)
	}
	take(false, maxProbe)
	g.used = 1
	take(true, 0)
}
