package host

import (
	"log/slog"
	"sync"

	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// labelledCatalog is the worker's catalog with the labels of the policies file. Runs that start
// pin it.
type labelledCatalog struct {
	tools  func() *toolspecs.Catalog
	rules  func() *policies.Set
	logger *slog.Logger

	mu sync.Mutex
	// plain and table are what labelled was made from.
	plain    *toolspecs.Catalog
	table    *policies.Set
	labelled *toolspecs.Catalog
}

// current returns the catalog with labels. It makes it again after an edit of the tools or the
// table.
func (l *labelledCatalog) current() *toolspecs.Catalog {
	plain, table := l.tools(), l.rules()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.labelled != nil && plain == l.plain && table == l.table {
		return l.labelled
	}
	labelled, err := plain.WithLabels(table)
	if err != nil {
		l.logger.Error("the labels of the policies file do not fit the toolspecs; no tool can be "+
			"called until they do", "error", err)
		labelled = toolspecs.CatalogFromTools(nil)
	}
	l.plain, l.table, l.labelled = plain, table, labelled
	return labelled
}
