// Package flagerrors explains invalid command lines, for starter and worker alike.
package flagerrors

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/spelling"
)

// Explain rewrites an error of parsing the flags of a set into a usage message.
func Explain(set *pflag.FlagSet, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		return fmt.Errorf("--%s %q: %s", f.Name, invalid.GetValue(), DescribeExpected(f.Value.Type(),
			errors.Unwrap(invalid)))
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		takes, _ := pflag.UnquoteUsage(f)
		return fmt.Errorf("--%s needs a value: --%s %s", f.Name, f.Name, takes)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedShortnames() != "" {
			return fmt.Errorf("there is no flag -%s", unknown.GetSpecifiedName())
		}
		var names []string
		set.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		text := "there is no flag --" + unknown.GetSpecifiedName()
		if near := spelling.Near("--"+unknown.GetSpecifiedName(), names, 2); len(near) > 0 {
			text += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return errors.New(text)
	}
	return err
}

// DescribeExpected describes a valid value for a flag of the given type after parsing failed with
// cause.
func DescribeExpected(kind string, cause error) string {
	if errors.Is(cause, strconv.ErrRange) {
		return "the number is too large or too small"
	}
	switch kind {
	case "int", "int64":
		return "write a whole number"
	case "float64":
		return "write a number"
	case "bool":
		return "write true or false"
	case "duration":
		return "write a number and a unit, such as 500ms, 30s or 2h"
	case "stringSlice":
		return "separate values by commas"
	}
	return cause.Error()
}
