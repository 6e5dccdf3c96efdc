package specs

import (
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/toolspecs"
)

func TestCache_IsBounded(t *testing.T) {
	s := New()
	for i := range maxSpecs + 10 {
		s.Put(fmt.Sprint(i), &toolspecs.Compiled{})
	}
	if len(s.byDigest) > maxSpecs {
		t.Errorf("%d specs are cached, want at most %d", len(s.byDigest), maxSpecs)
	}
}
