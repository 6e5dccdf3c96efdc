// Package lease renews a lease by heartbeats and computes until when it is certainly valid.
package lease
