// Package pictures draws runs for people: a page for one run, its calls over time, and one for many, with charts of what they
// cost and how their calls went. A page is one HTML file that needs no network: what draws it is part of it.
//
// All of it is made from what package audit derives from histories.
package html
