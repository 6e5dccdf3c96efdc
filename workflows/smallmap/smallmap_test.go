package smallmap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMap_EqualsAMap compares a Map with a map of Go over random changes, below and above the
// number of entries from which it has one itself.
func TestMap_EqualsAMap(t *testing.T) {
	for _, keys := range []int{1, few, few + 1, 5 * few} {
		random := rand.New(rand.NewPCG(1, uint64(keys)))
		want, got := map[string]int{}, Map[int]{}
		for step := range 2000 {
			key := fmt.Sprint("key", random.IntN(keys))
			if random.IntN(3) == 0 {
				delete(want, key)
				got.Delete(key)
			} else {
				want[key] = step
				got.Set(key, step)
			}
			value, ok := got.Find(key)
			if wanted, there := want[key]; value != wanted || ok != there ||
				got.Get(key) != wanted {
				t.Fatalf("%s is %v, %t, want %v, %t", key, value, ok, wanted, there)
			}
			if got.Len() != len(want) ||
				!slices.Equal(got.Keys(), slices.Sorted(maps.Keys(want))) {
				t.Fatalf("the keys are %v, want those of %v", got.Keys(), want)
			}
		}
	}
}

func TestMap_HasNoGoMapForFewEntries(t *testing.T) {
	var m Map[int]
	for i := range few {
		m.Set(fmt.Sprint(i), i)
	}
	if m.index != nil {
		t.Error("few entries have a map")
	}
	m.Set("more", 1)
	if m.index == nil || m.list != nil {
		t.Error("many entries have no map")
	}
}
