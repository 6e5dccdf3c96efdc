package export

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// records returns n different records.
func records(n int) []api.Record {
	list := make([]api.Record, n)
	for i := range list {
		list[i] = api.Record{
			CallID:          api.TurnCallID(1, i+1),
			Tool:            "a",
			Status:          api.CallCompleted,
			EstimatedTokens: i,
		}
	}
	return list
}

func exported(t *testing.T, n int) (lines []string, seal string) {
	t.Helper()
	var b bytes.Buffer
	x := NewJSON(&b)
	for _, r := range records(n) {
		r.Arguments = []byte(`{"text":"a <b> & c"}`)
		if err := x.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	seal, err := x.Close()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.SplitAfterSeq(strings.TrimSuffix(b.String(), "\n"), "\n")), seal
}

func TestVerify_ReturnsSealOfIntactExport(t *testing.T) {
	for _, n := range []int{0, 1, 50} {
		lines, seal := exported(t, n)
		records, got, err := Verify(strings.NewReader(strings.Join(lines, "") + "\n"))
		if err != nil || records != n || got != seal || seal == "" {
			t.Errorf("%d records: %d, seal %s, want %s, %v", n, records, got, seal, err)
		}
	}
}

func TestVerify_NamesTheLineOfAChange(t *testing.T) {
	lines, _ := exported(t, 10)
	cases := map[string]struct {
		change func(l []string) []string
		line   string
	}{
		"a value": {
			func(l []string) []string {
				l[4] = strings.Replace(l[4], "a <b>", "a [b]",
					1)
				return l
			},
			"line 5 or line 6 was changed: line 6 does not have the digest of line 5",
		},
		"a line taken out": {
			func(l []string) []string { return slices.Delete(l, 4, 5) },
			"line 5: its number is 6: lines were removed or inserted, or it was changed",
		},
		"a line twice": {
			func(l []string) []string { return slices.Insert(l, 4, l[3]) },
			"line 5: its number is 4: lines were removed or inserted, or it was changed",
		},
		"two lines swapped": {
			func(l []string) []string { l[4], l[5] = l[5], l[4]; return l },
			"line 5: its number is 6: lines were removed or inserted, or it was changed",
		},
		"the end cut off": {func(l []string) []string { return l[:7] },
			"line 7: the export was cut off after this line"},
		"a line cut off": {
			func(l []string) []string { l = l[:7]; l[6] = l[6][:20]; return l },
			"line 7: the line was cut off",
		},
		"something appended": {
			func(l []string) []string { l[10] += "\n"; return append(l, "{}") },
			"line 12: it follows the last line",
		},
		"another number": {
			func(l []string) []string {
				l[10] = strings.Replace(l[10], `"records":10`,
					`"records":9`, 1)
				return l
			},
			"line 11: it counts 9 records, but 10 precede it",
		},
		"no JSON": {func(l []string) []string { l[2] = "what\n"; return l },
			"line 3: it is not a line of an export: invalid character 'w' looking for beginning of value"},
		"nothing at all":      {func([]string) []string { return nil }, "it is empty, but an export without records has one line"},
		"the first line gone": {func(l []string) []string { return l[1:] }, "line 1: it is not the first line of an export: lines before it were removed, or it was changed"},
	}
	for name, c := range cases {
		text := strings.Join(c.change(slices.Clone(lines)), "")
		if name != "a line cut off" && name != "nothing at all" {
			text = strings.TrimSuffix(text, "\n") + "\n"
		}
		_, _, err := Verify(strings.NewReader(text))
		if !errors.Is(err, ErrChain) || err.Error() != ErrChain.Error()+": "+c.line {
			t.Errorf("%s: got %v, want %s", name, err, c.line)
		}
	}
}
