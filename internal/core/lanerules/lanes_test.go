package lanerules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"pgregory.net/rapid"
)

// checkKeyPart reports why a part cannot represent a key in the names of task queues.
func checkKeyPart(key, part string) error {
	switch {
	case part == "" || len(part) >= 200:
		return fmt.Errorf("the part of %.40q has %d bytes", key, len(part))
	case strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }):
		return fmt.Errorf("the part of %.40q is %q", key, part)
	case lanerules.KeyPart(key) != part:
		return fmt.Errorf("the part of %.40q is another one the second time", key)
	}
	return nil
}

// Keys may look like the part of another key, be long or empty, or contain any bytes.
func TestKeyParts_AreValidAndDistinct(t *testing.T) {
	long := strings.Repeat("x", 10<<10)
	keys := []string{"", " ", "~", "~~", ".", "..", "/", "a", "A", "a/b", "a b", "a%2Fb", "a~b",
		"pixel-7", "pixel_7", "pixel.7", "größe", "gro\u0308ße", "日本",
		"\x00", "\xff", "\xfe\xff", "\ufffd", "\n", "{{args.device}}", "instance", "keys", "null",
		`["a"]`, long, long + "y", "y" + long,
		strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("ü", 10<<10),
		strings.Repeat("a b", 20)}
	for _, key := range slices.Clone(keys) {
		keys = append(keys, lanerules.KeyPart(key)) // a key that is the part of another
	}
	parts := map[string]string{}
	for _, key := range keys {
		part := lanerules.KeyPart(key)
		if err := checkKeyPart(key, part); err != nil {
			t.Error(err)
		}
		if other, taken := parts[part]; taken && other != key {
			t.Errorf("%.40q and %.40q are both %q", other, key, part)
		}
		parts[part] = key
	}
	if got := lanerules.KeyPart("pixel-7.eu"); got != "pixel-7.eu" {
		t.Errorf("a plain key becomes %q", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.~/-]{0,70}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		a, b := text.Draw(rt, "a"), text.Draw(rt, "b")
		for key, part := range map[string]string{a: lanerules.KeyPart(a), b: lanerules.KeyPart(b)} {
			if err := checkKeyPart(key, part); err != nil {
				rt.Fatal(err)
			}
		}
		if a != b && (lanerules.KeyPart(a) == lanerules.KeyPart(b) ||
			lanerules.KeyPart(a) == lanerules.KeyPart(lanerules.KeyPart(b)) &&
				a != lanerules.KeyPart(b)) {
			rt.Fatalf("%q and %q have one part", a, b)
		}
	})
}

// FuzzKeyPart searches for two keys with the same part and for parts that are invalid in the name
// of a task queue.
func FuzzKeyPart(f *testing.F) {
	f.Add("a", "A")
	f.Add("", "~")
	f.Add("a/b", "a_b")
	f.Add(strings.Repeat("ü", 100), "~"+strings.Repeat("x", 43))
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, key := range []string{a, b} {
			if err := checkKeyPart(key, lanerules.KeyPart(key)); err != nil {
				t.Error(err)
			}
		}
		if a != b && lanerules.KeyPart(a) == lanerules.KeyPart(b) {
			t.Errorf("%q and %q have one part", a, b)
		}
	})
}

// Shares of groups differ by at most one. On a keyed lane, each group has the whole limit.
func TestShares_AddUpToTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit, groups := rapid.IntRange(1, 1000).Draw(rt, "limit"), rapid.IntRange(1, 64).Draw(rt,
			"groups")
		lane, keyed := api.Lane{Limit: limit}, api.Lane{Limit: limit, Key: "{{args.a}}"}
		sum, least, most := 0, limit, 0
		for group := range groups {
			share := lanerules.Share(lane, group, groups)
			sum, least, most = sum+share, min(least, share), max(most, share)
			if lanerules.Share(keyed, group, groups) != limit {
				rt.Fatalf("of a keyed lane group %d has %d", group, lanerules.Share(keyed, group, groups))
			}
		}
		if sum != limit || most-least > 1 {
			rt.Fatalf("the shares add up to %d, from %d to %d", sum, least, most)
		}
	})
	if lanerules.Share((api.Lane{Limit: 3}), 0, 0) != 3 {
		t.Error("without groups there is not one")
	}
}

func TestLaneGroups_DivideTheTaskQueuesOfKeys(t *testing.T) {
	lane := api.Lane{Name: "phone", Key: "{{args.a}}"}
	all := lanerules.TaskQueues(lane, "base")
	if len(all) != lanerules.KeyQueues || all[3] != "base/phone/3" {
		t.Fatalf("the task queues are %q", all)
	}
	for _, groups := range []int{0, 1, 3, 4, lanerules.KeyQueues} {
		var served []string
		for group := range max(groups, 1) {
			queues := lanerules.GroupQueues(lane, "base", group, groups)
			if least := lanerules.KeyQueues / max(groups, 1); len(queues) < least ||
				len(queues) > least+1 {
				t.Errorf("group %d of %d serves %q", group, groups, queues)
			}
			served = append(served, queues...)
		}
		slices.Sort(served)
		if want := slices.Sorted(slices.Values(all)); !slices.Equal(served, want) {
			t.Errorf("%d groups serve %q", groups, served)
		}
	}
	used := map[string]bool{}
	for i := range 1000 {
		queue := lanerules.TaskQueue(lane, "base", fmt.Sprint("device ", i))
		if !slices.Contains(all, queue) {
			t.Fatalf("the key %d has the queue %s", i, queue)
		}
		used[queue] = true
	}
	if len(used) != len(all) {
		t.Errorf("a thousand keys use %d task queues", len(used))
	}
	plain := api.Lane{Name: "http"}
	if got := lanerules.GroupQueues(plain, "base", 1, 4); !slices.Equal(got, []string{"base/http"}) {
		t.Errorf("a group of a lane without keys serves %q", got)
	}
}

func TestLaneRules_AreDerived(t *testing.T) {
	none, ten := 0, 10
	for _, c := range []struct {
		lane                  api.Lane
		limited, keyed, holds bool
		space                 int
		groups, queue         string
	}{
		{api.Lane{Name: "general"}, false, false, false, 0, "none", "base"},
		{api.Lane{Name: "gpu"}, false, false, false, 0, "none", "base/gpu"},
		{api.Lane{Name: "http", Limit: 5, Holders: 4}, true, false, false, 0,
			"4 of slots, lease 15s", "base/http"},
		{api.Lane{Name: "old", Limit: 1, Holders: 1, Queue: "legacy"}, true, false, false, 0,
			"1 of slots, lease 15s", "legacy"},
		{api.Lane{Name: "phones", Limit: 1, Holders: 2, Key: "{{args.p}}"}, true, true, true,
			1000, "2 of keys, lease 15s", "base/phones/7"},
		{api.Lane{Name: "phones", Limit: 1, Holders: 2, Key: "{{args.p}}", Queue: "legacy"}, true,
			true, true, 1000, "2 of keys, lease 15s", "legacy/7"},
		{api.Lane{Name: "phones", Limit: 1, Holders: 2, Key: "{{args.p}}", QueueSize: &ten}, true,
			true, true, 10, "2 of keys, lease 15s", "base/phones/7"},
		{api.Lane{Name: "a", Limit: 1, Holders: 1, QueueSize: &ten}, true, false, true, 10,
			"1 of slots, lease 15s", "base/a"},
		{api.Lane{Name: "a", Limit: 1, Holders: 1, QueueSize: &none}, true, false, true, 0,
			"1 of slots, lease 15s", "base/a"},
		{api.Lane{Name: "a", Limit: 1, Holders: 1, Strategy: api.StrategyReject, QueueSize: &ten},
			true, false, true, 0, "1 of slots, lease 15s", "base/a"},
	} {
		l := c.lane
		if l.HasLimit() != c.limited || l.HasKey() != c.keyed || l.UsesWaitQueue() != c.holds ||
			lanerules.WaitCapacity(l) != c.space || lanerules.DescribeGroups(l) != c.groups {
			t.Errorf("%+v: limited %t, keyed %t, holds %t, room %d, groups %s", l, l.HasLimit(),
				l.HasKey(), l.UsesWaitQueue(), lanerules.WaitCapacity(l),
				lanerules.DescribeGroups(l))
		}
		if got := lanerules.TaskQueue(l, "base", "k.1"); got != c.queue {
			t.Errorf("%+v has the task queue %s", l, got)
		}
	}
	printer := api.Lane{Bypass: []api.CallerType{api.CallerPlan}}
	if !printer.Bypasses(api.CallerPlan) || printer.Bypasses(api.CallerAgent) ||
		(api.Lane{}).Bypasses("") {
		t.Error("the wrong callers bypass")
	}
}

func TestLaneNames_DifferFromOtherQueues(t *testing.T) {
	for _, name := range []string{"a", "general", "serial", "inline", "http-2", "Phones_EU",
		strings.Repeat("a", 64)} {
		if err := lanerules.CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a/b", "a b", "a.b", "~", "ü", "bypass", "host_instance", "instance",
		"slots", "worker", strings.Repeat("a", 65)} {
		if lanerules.CheckName(name) == nil {
			t.Errorf("a lane can have the name %q", name)
		}
	}
}

// The levels are 1 to 4. An invalid value means normal.
func TestPriorityLevel_HasTemporalsLevels(t *testing.T) {
	for priority, want := range map[api.Priority]int{"urgent": 1, "high": 2, "normal": 3, "low": 4,
		"": 3, "URGENT": 3} {
		if got := lanerules.PriorityLevel(priority); got != want {
			t.Errorf("%q has the level %d, want %d", priority, got, want)
		}
	}
}

func TestFairnessKey_IsValidAndDistinct(t *testing.T) {
	fits, long := strings.Repeat("a", 64), strings.Repeat("a", 65)
	if lanerules.FairnessKey(fits) != fits || lanerules.FairnessKey("") != "" {
		t.Error("a short text is not its own key")
	}
	a, b := lanerules.FairnessKey(long), lanerules.FairnessKey(long+"b")
	if len(a) > 64 || len(b) > 64 || a == b {
		t.Errorf("the keys are %q and %q", a, b)
	}
}

func TestLaneCounts_AddUp(t *testing.T) {
	c := lanerules.Counts{Running: 1, Waiting: 2, Keys: 3, Acquired: 4, Rejected: 5, TimedOut: 6,
		Ended: 7, WaitMicros: 8, ExecutionMicros: 9}
	sum := c
	sum.Add(c)
	if want := (lanerules.Counts{Running: 2, Waiting: 4, Keys: 6, Acquired: 8, Rejected: 10,
		TimedOut: 12, Ended: 14, WaitMicros: 16, ExecutionMicros: 18}); sum != want {
		t.Errorf("got %+v", sum)
	}
}
