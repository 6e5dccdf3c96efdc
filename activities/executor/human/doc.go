// Package human executes tools that ask a person.
package human
