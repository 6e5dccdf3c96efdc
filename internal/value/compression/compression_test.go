package compression

import (
	"strings"
	"testing"
)

// A small forged value cannot expand above the limit. The limit itself is allowed.
func TestGunzip_BoundsTheSize(t *testing.T) {
	bomb, err := Gzip([]byte(strings.Repeat("0", 10<<20)))
	if err != nil {
		t.Fatal(err)
	}
	if len(bomb) > 20<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	if _, err := Gunzip(bomb, 10<<20-1); err == nil || err.Error() != "the value has more than 10485759 bytes" {
		t.Errorf("one byte over the limit: %v", err)
	}
	if plain, err := Gunzip(bomb, 10<<20); err != nil || len(plain) != 10<<20 {
		t.Errorf("at the limit: %d bytes, %v", len(plain), err)
	}
}
