package runstart

import (
	"testing"
	"time"
)

// Starts that have waited through more runs try again sooner; within one run, the order of arrival
// counts.
func TestConversationQueue_PrefersEarlierStarts(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	came := func(seconds int) *placeInLine { return &placeInLine{came: at(seconds)} }
	line := []*placeInLine{came(1), came(5), came(9)} // during a run of 10 s
	var last time.Duration
	for i, p := range line {
		pause := p.pause(at(10), 10*time.Second)
		if pause <= last {
			t.Errorf("place %d pauses for %s, after %s", i, pause, last)
		}
		last = pause
	}
	late := came(11) // during the next run, from 10 to 20 s
	second, third, fourth := line[1].pause(at(20), 10*time.Second),
		line[2].pause(at(20), 10*time.Second), late.pause(at(20), 10*time.Second)
	if second >= third || third >= fourth {
		t.Errorf("the pauses are %s, %s and %s", second, third, fourth)
	}
	if early := came(-50).pause(at(20), 10*time.Second); early != lineStep {
		t.Errorf("one that came before the run began pauses for %s", early)
	}
}
