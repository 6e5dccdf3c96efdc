// Package outbound holds what every request that leaves a worker for a tool keeps to: which hosts
// and addresses it may reach, what a redirect may carry along, which failures another attempt may
// cure, and how a secret that is named in a spec gets into the request and nowhere else.
package outbound
