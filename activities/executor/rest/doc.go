// Package rest executes tools that are HTTP requests.
package rest
