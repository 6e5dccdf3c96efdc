package operate

import (
	"testing"
	"time"
)

func TestProbe_ReportsSlowCalls(t *testing.T) {
	for _, c := range []struct {
		wall, wait time.Duration
		want       mark
	}{
		{14 * time.Millisecond, time.Millisecond, markGood},
		{50 * time.Millisecond, 45 * time.Millisecond, markWarn},
		{400 * time.Millisecond, time.Millisecond, markWarn},
	} {
		if got := evaluate(c.wall, c.wait); got.Mark != c.want || c.want == markWarn &&
			got.Remedy == "" {
			t.Errorf("%s, %s: %+v, want %s", c.wall, c.wait, got, c.want)
		}
	}
	if major, minor := versionOf("1.29.1"); major != 1 || minor != 29 {
		t.Errorf("version %d.%d", major, minor)
	}
	if major, _ := versionOf("odd"); major != 0 {
		t.Errorf("a version that is none has major %d", major)
	}
}
