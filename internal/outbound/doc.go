// Package outbound defines the rules for requests that workers send for tools: which hosts and
// addresses they may reach, what a redirect may carry, which failures are transient, and how a
// secret named in a spec is added to the request and kept out of everything else.
package outbound
