package strictyaml

import "fmt"

// Finding is one thing wrong with a value, by its path in the value. Document.ReportAll turns it
// into a Fault with a place.
type Finding struct {
	Path, Message, Hint string
	// AtKey is set if the fault is in the key at Path, not in its value.
	AtKey bool
}

// Findings collects what checks find.
type Findings struct{ All []Finding }

// Add adds a finding about the value at path. hint is the remedy; it may be empty.
func (f *Findings) Add(path, hint, format string, args ...any) {
	f.All = append(f.All, Finding{Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// AddKey adds a finding about the key at path.
func (f *Findings) AddKey(path, hint, format string, args ...any) {
	f.All = append(f.All, Finding{Path: path, Hint: hint, Message: fmt.Sprintf(format, args...),
		AtKey: true})
}

// ReportAll reports findings at their places in the document.
func (d *Document) ReportAll(findings []Finding) {
	for _, f := range findings {
		if f.AtKey {
			d.ReportKey(f.Path, f.Message, f.Hint)
			continue
		}
		d.Report(f.Path, f.Message, f.Hint)
	}
}
