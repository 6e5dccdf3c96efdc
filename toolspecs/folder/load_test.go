package folder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/toolspecs"
)

// Load reports all faults at once, finds duplicate names, and reads neither hidden files, nor new
// versions that an import wrote beside edited files, nor targets of links outside of the folder.
func TestLoad_ReportsTheFaultsOfAllFiles(t *testing.T) {
	outside := t.TempDir()
	good := "version: 1.0.0\ndescription: A tool.\nentry: {type: function}\n"
	write(t, filepath.Join(outside, "secret.yaml"), "name: outside\n"+good)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "name: a\n"+good)
	write(t, filepath.Join(dir, "sub", "b.yml"), "name: b\n"+good+"---\nname: b2\n"+good)
	write(t, filepath.Join(dir, "notes.txt"), "not: [a toolspec")
	write(t, filepath.Join(dir, ".hidden.yaml"), "not: a toolspec")
	write(t, filepath.Join(dir, "a.new.yaml"), "name: a\n"+good)
	write(t, filepath.Join(dir, ".git", "c.yaml"), "not: a toolspec")
	c, err := Load(dir, toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Names(); !slices.Equal(got, []string{"a", "b", "b2"}) {
		t.Errorf("got %v", got)
	}

	write(t, filepath.Join(dir, "z.yaml"), "name: a\n"+good)
	write(t, filepath.Join(dir, "y.yaml"),
		"name: y\nvrsion: 1.0.0\ndescription: x\nentry: {type: function}\n")
	write(t, filepath.Join(dir, "x.yaml"), "text")
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"),
		filepath.Join(dir, "link.yaml")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	write(t, filepath.Join(dir, "large.yaml"), "# "+strings.Repeat("x", toolspecs.MaxFileBytes))
	_, err = Load(dir, toolspecs.Options{})
	if err == nil {
		t.Fatal("no faults")
	}
	got := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	want := `large.yaml:1:1: the file is larger than the maximum of 1 MiB (split it into smaller files)
link.yaml: cannot be read: path escapes from parent
x.yaml:1:1: this must be a mapping, not the text "text"
y.yaml:1:1: version is missing
y.yaml:2:1: unknown field "vrsion" (did you mean "version"?)
z.yaml:1:7: there is another tool "a", at a.yaml:1:7 (rename or remove one of them)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := Load(filepath.Join(dir, "none"), toolspecs.Options{}); err == nil {
		t.Error("a folder that does not exist was loaded")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A worker does not start if an undo names an unknown tool.
func TestWatch_RefusesUndoByUnknownTool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.yaml")
	write(t, file, "name: a\nversion: 1.0.0\ndescription: A tool.\nentry: {type: function}\nundo: {tool: cancl}\n")
	if _, err := Watch(WatchConfig{Dir: filepath.Dir(file)}); err == nil ||
		err.Error() != file+`:5:14: there is no tool "cancl" (known: a)` {
		t.Errorf("got %v", err)
	}
}
