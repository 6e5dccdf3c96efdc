// Package scripted is a model that plays a script, without a network.
package scripted
