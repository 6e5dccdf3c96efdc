package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/value/display"
)

// ChangedFlags returns the command's given flags as typed, except one.
func ChangedFlags(cmd *cobra.Command, but string) string {
	var given []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != but {
			given = append(given, "--"+f.Name+" "+f.Value.String())
		}
	})
	return strings.Join(given, " ")
}

// CheckPage rejects an output file whose extension is not that of a page.
func CheckPage(cmd *cobra.Command, flag, file string) error {
	if ending := strings.ToLower(filepath.Ext(file)); file != "" && file != "-" &&
		ending != ".html" && ending != ".htm" {
		return UsageError(cmd,
			"%s %q does not end in .html; a browser can print the page as PDF", flag, file)
	}
	return nil
}

// WritePage writes a page to the flag's file, or to standard output for -, and prints its location.
// missing are the runs that could not be read.
func WritePage(a *App, flag, file string, write func(io.Writer) error,
	missing Unread) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	if file == "-" {
		_, err := page.WriteTo(a.Out)
		return cmp.Or(err, missing.Err())
	}
	size := page.Len()
	err := StreamWhole(flag, file, 0o600, func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	if a.Format.JSON() {
		written := map[string]any{"file": file, "bytes": size}
		if len(missing) > 0 {
			written["unread"] = missing
		}
		return missing.Exit(WriteJSON(a.Out, written, false))
	}
	return cmp.Or(a.Println(fmt.Sprintf("%s (%s kB): open it in a browser", file,
		display.Thousands(max(size/1000, 1)))), missing.Err())
}
