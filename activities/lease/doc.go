// Package lease keeps a lease by heartbeats and says until when it is certain.
package lease
