// Package html writes pages about runs: one for a run, with its calls over time, and one for many
// runs, with bars of their cost and results. A page is one HTML file that needs no network.
package html
