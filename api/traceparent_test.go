package api

import "testing"

func TestTraceparent_IsBelowTheSpanOfTheCall(t *testing.T) {
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	own := Origin{Run: "run-1"}
	if a, b := own.Traceparent("1.1"), own.Traceparent("1.1"); a != b {
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
			o := Origin{Run: "run-1", Trace: test.trace}
			c, ok := ParseTraceparent(o.Traceparent("1.1"))
			want := TraceID("run-1")
			if caller, given := ParseTraceparent(test.trace); given {
				want = caller.Trace
			}
			if !ok || string(c.Trace) != string(want) || c.Flags != test.flags ||
				string(c.Span) != string(SpanID("run-1", CallSpan("1.1"))) {
				t.Errorf("got %x below %x, flags %s", c.Span, c.Trace, c.Flags)
			}
		})
	}
}
