package toolspecs

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Tools of one instance that declare it differently are reported, with the places of both and the
// remedy. Tools of another instance are not compared with them.
func TestCheckInstances_ReportsContradictions(t *testing.T) {
	dir := t.TempDir()
	tool := func(name, entry, execution string) {
		write(t, filepath.Join(dir, name+".yaml"), "name: "+name+"\nversion: 1.0.0\n"+
			"description: A tool.\nentry: {type: stateful, "+entry+"}\nexecution: {"+execution+"}\n")
	}
	tool("cd", "instance: shell, method: cd, on_loss: recreate", "effect: idempotent, lane: serial")
	tool("run", "instance: shell, method: run, idle_timeout: 1h", "")
	tool("env", "instance: shell, method: env, on_loss: recreate, secrets: {A: env:A}",
		"effect: read, lane: serial")
	tool("shell", "method: run, on_loss: recreate, handler: other", "lane: serial")
	tool("second", "instance: second, handler: shell, method: cd", "")
	var specs []Spec
	for _, name := range []string{"cd", "run", "env", "shell", "second"} {
		of, _ := decodeFileOf(t, filepath.Join(dir, name+".yaml"))
		specs = append(specs, of...)
	}
	const hint = ", which shares the instance shell (declare the same for all tools of an " +
		"instance, or name another instance)"
	var want []string
	for _, line := range []string{
		"run.yaml:4:8: on_loss is fail, but it is recreate for cd at DIR/cd.yaml:4:63" + hint,
		"run.yaml:4:69: idle_timeout is 1h0m0s, but it is 10m0s for cd at DIR/cd.yaml:4:8" + hint,
		"run.yaml:5:12: lane is general, but it is serial for cd at DIR/cd.yaml:5:39" + hint,
		"env.yaml:4:83: secrets differ from those of cd at DIR/cd.yaml:4:8" + hint,
		"shell.yaml:4:66: handler is other, but it is shell for cd at DIR/cd.yaml:4:8" + hint,
	} {
		want = append(want, dir+"/"+strings.ReplaceAll(line, "DIR", dir))
	}
	if got := CheckInstances(specs).Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Tools that read run together in an instance. Every other call has it alone.
func TestToolsOfAnInstance_ShareItUnlessTheyChangeIt(t *testing.T) {
	for _, c := range []struct {
		name, entry, execution string
		instance               string
		access                 api.Access
	}{
		{"shell_run", "instance: shell, method: run", "", "shell", api.AccessExclusive},
		{"shell_pwd", "instance: shell, method: pwd", "effect: read", "shell", api.AccessShared},
		{"shell_pwd", "instance: shell, method: pwd", "effect: read, access: exclusive", "shell",
			api.AccessExclusive},
		{"cart", "handler: cart", "", "", api.AccessExclusive},
	} {
		specs, err := Decode("a.yaml", []byte("name: "+c.name+"\nversion: 1.0.0\ndescription: A.\n"+
			"entry: {type: stateful, "+c.entry+"}\nexecution: {"+c.execution+"}\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := specs[0].Compile()
		if err != nil {
			t.Fatal(err)
		}
		if tool := compiled.Tool(); tool.Instance != c.instance || tool.Access != c.access ||
			tool.HostWithin != 0 || tool.Dispatch != api.DispatchInstance {
			t.Errorf("%s: the run pins %+v", c.entry, tool)
		}
	}
}

// Workers host sessions on lanes other than general only while they have such a tool.
func TestSessions_WaitForAHostForALimitedTimeOnOtherLanes(t *testing.T) {
	for lane, want := range map[string]time.Duration{"web": time.Hour, api.LaneGeneral: 0} {
		s := Spec{Name: "read", Version: "1.0.0", Description: "Reads.",
			Entry: Entry{Kind: MCPEntry{Argv: []string{"server"},
				Pin: "sha256:" + strings.Repeat("0", 64)}},
			Execution: ExecutionSpec{Lane: lane}}
		compiled, err := s.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Tool().HostWithin.Std(); got != want {
			t.Errorf("lane %s: %s, want %s", lane, got, want)
		}
	}
}
