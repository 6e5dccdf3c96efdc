package traceparent

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

func TestTraceparent_IsBelowTheSpanOfTheCall(t *testing.T) {
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	own := api.Origin{Run: "run-1"}
	if a, b := Format(own, "1.1"), Format(own, "1.1"); a != b {
		t.Errorf("the same call has %s and %s", a, b)
	}
	for name, test := range map[string]struct {
		trace, flags string
	}{
		"no trace of the caller": {"", "01"},
		"malformed":              {"00-x-y-01", "01"},
		"zeros":                  {"00-00000000000000000000000000000000-b7ad6b7169203331-01", "01"},
		"trace of the caller":    {caller, "00"},
	} {
		t.Run(name, func(t *testing.T) {
			o := api.Origin{Run: "run-1", Trace: test.trace}
			c, ok := Parse(Format(o, "1.1"))
			want := TraceID("run-1")
			if caller, given := Parse(test.trace); given {
				want = caller.Trace
			}
			if !ok || string(c.Trace) != string(want) || c.Flags != test.flags ||
				string(c.Span) != string(SpanID("run-1", CallSpan("1.1"))) {
				t.Errorf("got %x below %x, flags %s", c.Span, c.Trace, c.Flags)
			}
		})
	}
}
