// Package pagestyle has the styles that all pages share: those of the console, the timeline and the
// report.
package pagestyle

import _ "embed"

// Base is the shared stylesheet: colours for light and dark, type, tables, forms and states.
//
//go:embed base.css
var Base string
