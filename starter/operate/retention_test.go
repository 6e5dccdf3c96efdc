package operate

import "testing"

func TestRetention_IsReadFromDaysAndDurations(t *testing.T) {
	for text, want := range map[string]string{
		"30d": "720h0m0s", "720h": "720h0m0s", "36h": "36h0m0s", "0d": "0s",
		"d":       "write a whole number of days, at most 36500d",
		"1.5d":    "write a whole number of days, at most 36500d",
		"-1d":     "write a whole number of days, at most 36500d",
		"999999d": "write a whole number of days, at most 36500d",
		"long":    "write days or hours, such as 30d or 720h",
		"30":      "write days or hours, such as 30d or 720h",
	} {
		var d retention
		got := ""
		if err := d.Set(text); err != nil {
			got = err.Error()
		} else {
			got = d.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
