package jsontext_test

import (
	"testing"

	"github.com/switchyard/switchyard/internal/jsontext"
)

func TestEndOfString_FindsTheQuoteThatIsNotEscaped(t *testing.T) {
	for text, want := range map[string]int{
		`""`: 1, `"a",`: 2, `"a\"b"`: 5, `"a\\"`: 4, `"a`: 2, `"a\"`: 4, `"a\`: 3, `"`: 1,
	} {
		if got := jsontext.EndOfString([]byte(text), 0); got != want {
			t.Errorf("%s ends at %d, want %d", text, got, want)
		}
	}
	if got := jsontext.EndOfString([]byte(`{"a":"b"}`), 5); got != 7 {
		t.Errorf("the second string ends at %d, want 7", got)
	}
}
