package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/cases"
)

// accepted are the ids of invalid documents of the yaml-test-suite that the YAML library accepts:
// it checks neither the space before comments nor the indentation within flow collections and
// quotes.
const accepted = "9C9N 9JBA CVW2 DK95-1 G5U8 HRE5 QB6E S98Z SU5Z X4QW Y79Y-3 YJV2"

// refused maps reasons to valid documents that are refused or misread.
var refused = map[string]string{
	"the YAML library does not read it": "27NA 2JQS 2LFX 2SXE 3UYS 4MUZ-1 4MUZ-2 58MP 5MUD 5T43 6BCT 6LVF 6M2F 6ZKB 7Z25 8XYN 96NN-0 " +
		"96NN-1 9DXL 9SA2 A2M4 BEC7 CFD4 DBG4 DK3J DK95-0 DK95-3 DK95-4 DK95-7 FP8R FRK4 HM87-0 HWV9 " +
		"JR7V K3WX M2N8-0 M7A3 MUS6-5 MUS6-6 NHX8 NJ66 NKF9 QT73 R4YG RTP8 S3PD SM9W-1 UKK6-0 UT92 " +
		"VJP3-1 W4TN W5VH WZ62 Y79Y-1 Y79Y-10 ZYU8-0 ZYU8-1 ZYU8-2 ZYU8-3",
	"tags other than YAML's own have no JSON form":                             "2XXW 565N 5TYM 6CK3 6WLZ 7FWL 9WXW C4HZ CC74 CUP7 J7PZ M5C3 P76L UGM3 Z67P Z9M4",
	"keys that are lists or mappings have no JSON form":                        "4FJ6 6BFJ 6PBE 9MMW KK5P LX3P M2N8-1 M5DY Q9WF RZP5 SBG9 V9D5 X38W XW4D",
	"the YAML library reads it as something else":                              "652Z HM87-1 L24T-1 S4JQ Y2GN",
	"nothing but comments and directives is an empty file, which says nothing": "6XDY 8G76 98YD AVM7 MUS6-2 MUS6-3 MUS6-4 UKK6-2",
	"an empty key has no JSON form":                                            "DFF7 PW8X",
}

// exceptions returns the ids in refused.
func exceptions() map[string]bool {
	ids := map[string]bool{}
	for _, list := range refused {
		for _, id := range strings.Fields(list) {
			ids[id] = true
		}
	}
	return ids
}

// The yaml-test-suite checks the path from the text of a file to JSON: invalid YAML is refused,
// valid YAML gives the expected JSON, and nothing panics.
func TestYAMLSuite_Passes(t *testing.T) {
	except := exceptions()
	for _, c := range readSuite(t) {
		got, faults := toJSON(c.YAML)
		right := (len(faults) > 0) == c.Fail
		if right && !c.Fail && c.JSON != "" {
			right = reflect.DeepEqual(values(t, got), values(t, c.JSON))
		}
		known := except[c.ID] || slices.Contains(strings.Fields(accepted), c.ID)
		if right == known {
			t.Errorf("%s %s: right is %t, listed as an exception is %t\ngot %s %v, want %s\n%s",
				c.ID, c.Name, right, known, got, faults, c.JSON, c.YAML)
		}
	}
}

type yamlCase struct {
	ID, Name, YAML string
	Fail           bool
	JSON           string
}

func readSuite(t *testing.T) []yamlCase {
	t.Helper()
	var suite struct{ Cases []yamlCase }
	cases.Read(t, "yaml_test_suite.json", &suite)
	return suite.Cases
}

func toJSON(text string) (string, Faults) {
	docs, faults := Parse("f.yaml", []byte(text), 1<<20)
	var out bytes.Buffer
	for _, d := range docs {
		var raw json.RawMessage
		d.Decode(&raw)
		faults = append(faults, d.Faults()...)
		fmt.Fprintf(&out, "%s\n", raw)
	}
	return out.String(), faults
}

// values decodes a stream of JSON values without empty documents.
func values(t *testing.T, text string) []any {
	t.Helper()
	var list []any
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if v != nil {
			list = append(list, v)
		}
	}
}
