// Package folder loads a folder of toolspecs into a catalog and keeps the catalog in step with the
// folder's files.
package folder
