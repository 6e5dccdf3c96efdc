// Package modelserver is a model server for tests.
package modelserver
