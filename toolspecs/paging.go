package toolspecs

import (
	"slices"
	"strings"
)

// pagingNames are what APIs call the parameters that ask for a part of an answer, without underscores and case.
var pagingNames = []string{"after", "before", "count", "cursor", "end", "endingbefore", "first", "fields", "from", "last", "limit",
	"maxresults", "offset", "page", "pagenumber", "pagesize", "pagetoken", "perpage", "range", "select", "since", "size", "skip",
	"start", "startingafter", "take", "to", "top", "until"}

// PagingArguments returns the declared arguments whose names say that they ask for a part of an answer.
func (s Spec) PagingArguments() []string {
	var names []string
	for _, name := range s.argumentNames() {
		plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", "$", "").Replace(name))
		if slices.Contains(pagingNames, plain) {
			names = append(names, name)
		}
	}
	return names
}
