package toolspecs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// KindCommand is a program.
const KindCommand = "command"

// Defaults of a CommandEntry.
const (
	defaultMaxOutput = 1 << 20
	stdinJSON        = "json"
	stdoutText       = "text"
)

// CommandEntry is the entry of tools that start a program for each call.
//
// The program gets the idempotency key of the call as SWITCHYARD_IDEMPOTENCY_KEY, and the fencing
// number of its slot as SWITCHYARD_FENCE. Exit codes outside of OKExitCodes are failures, those of
// TransientExitCodes transient ones.
type CommandEntry struct {
	// Argv is the program and its arguments, without a shell; each element stays one argument. Its
	// elements may contain {{args.name}}; one that is only the placeholder of an absent argument is
	// omitted.
	Argv []string `json:"argv,omitempty" yaml:"argv" rule:"required,min=1" hint:"write argv: [program, argument, …]"`
	// Dir is the working folder, relative to the worker's --dir, which is the default.
	Dir string `json:"dir,omitempty" yaml:"dir"`
	// Env lists the environment variables that the program gets besides PATH, HOME, LANG and
	// TMPDIR.
	Env []string `json:"env,omitempty" yaml:"env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$ %q cannot name an environment variable" hint:"list names, not values; the values come from the worker's environment"`
	// SetEnv maps further environment variables of the program to values that are not secret.
	SetEnv map[string]string `json:"set_env,omitempty" yaml:"set_env"`
	// Secrets maps environment variables of the program to references, env:NAME or file:/path.
	// Their values are redacted in the tool's results and errors.
	Secrets map[string]string `json:"secrets,omitempty" yaml:"secrets" rule:"secret"`
	// Stdin is json (the arguments; the default) or none.
	Stdin string `json:"stdin,omitempty" yaml:"stdin" rule:"enum=json|none"`
	// Stdout is text (the default), which needs a string output, or json.
	Stdout string `json:"stdout,omitempty" yaml:"stdout" rule:"enum=text|json"`
	// OKExitCodes are the exit codes of success; default only 0.
	OKExitCodes []int `json:"ok_exit_codes,omitempty" yaml:"ok_exit_codes" rule:"min=1"`
	// TransientExitCodes are the exit codes of failures that another attempt may cure. A call with
	// the effect once is not retried.
	TransientExitCodes []int `json:"transient_exit_codes,omitempty" yaml:"transient_exit_codes"`
	// MaxOutput bounds standard output and standard error, in bytes, each; default 1 MiB. A program
	// that exceeds it is killed.
	MaxOutput int `json:"max_output,omitempty" yaml:"max_output" rule:"size,min=1,max=1GiB"`
	// MaxMemory bounds the program's address space in bytes, where the system supports it; zero
	// means no bound.
	MaxMemory int `json:"max_memory,omitempty" yaml:"max_memory" rule:"size,min=1MiB"`
}

// Name implements Kind.
func (CommandEntry) Name() string { return KindCommand }

// Common implements Kind.
func (e CommandEntry) Common() Common { return Common{Env: e.Env, Secrets: e.Secrets} }

func (e CommandEntry) withDefaults(*Spec) Kind {
	e.Stdin = cmp.Or(e.Stdin, stdinJSON)
	e.Stdout = cmp.Or(e.Stdout, stdoutText)
	e.MaxOutput = cmp.Or(e.MaxOutput, defaultMaxOutput)
	if len(e.OKExitCodes) == 0 {
		e.OKExitCodes = []int{0}
	}
	return e
}

func (CommandEntry) dispatch() api.Dispatch { return api.DispatchLane }

// describeOutside implements outsideDescriber.
func (CommandEntry) describeOutside(s Spec) (writes, reads string) {
	if s.Execution.Effect == api.EffectOnce {
		return "a command with the effect once", ""
	}
	return "", ""
}

func (e CommandEntry) check(c *checker, s Spec) {
	c.environment(e.Env, e.SetEnv, e.Secrets)
	c.argv(e.Argv, s.argumentNames())
	c.dir(e.Dir)
	c.exitCodes(e)
	if o := s.Output; o != nil && e.Stdout == stdoutText && o.Type != "" && o.Type != "string" &&
		s.Execution.OnInvalidOutput == onInvalidFail {
		c.Add("$.output.type", "write stdout: json in entry, if the program prints JSON",
			"the answer of a command with stdout: text is a string and does not fit the type %s",
			o.Type)
	}
}

func (c *checker) argv(argv, declared []string) {
	for i, element := range argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.Add(path, "", "argv contains a NUL character or an empty program")
		}
		c.placeholders(path, element, declared, i == 0)
	}
	c.programs(argv)
}

const maxExitCode = 255

func (c *checker) exitCodes(e CommandEntry) {
	for i, code := range e.OKExitCodes {
		c.exitCode(jsonpath.Index("$.entry.ok_exit_codes", i), code)
	}
	for i, code := range e.TransientExitCodes {
		path := jsonpath.Index("$.entry.transient_exit_codes", i)
		c.exitCode(path, code)
		if slices.Contains(e.OKExitCodes, code) {
			c.Add(path, "keep it in one of the lists",
				"exit code %d counts as success and as transient failure", code)
		}
	}
}

func (c *checker) exitCode(path string, code int) {
	if code < 0 || code > maxExitCode {
		c.Add(path, "", "exit codes are 0 to %d, not %d", maxExitCode, code)
	}
}

// interpreter is a family of programs that execute a text of their command line as a program. A
// placeholder within that text would let the caller inject code, regardless of shell quotes.
type interpreter struct {
	// name matches the program's name without folder and .exe, in lower case.
	name *regexp.Regexp
	// flag matches the option that precedes or contains the text; value matches options that take a
	// value.
	flag, value *regexp.Regexp
	// rest is set if everything after flag is the program; repeats is set if flag may occur more
	// than once.
	rest, repeats bool
	// first is set if the first argument that is not an option is the program unless flag occurs.
	// file matches options that name a file with the program in place of the text.
	first bool
	file  *regexp.Regexp
	// remote is set if the first argument is a host, and everything after it a program.
	remote bool
	hint   string
}

var anOption = regexp.MustCompile(`^[-+].`)

const hintShell = `pass it as an argument of its own: [sh, -c, 'echo "$1"', sh, "{{args.who}}"]`

var interpreters = []interpreter{
	{name: regexp.MustCompile(`^(sh|bash|dash|ash|zsh|[mp]?d?ksh(93)?|fish)$`),
		flag:  regexp.MustCompile(`^-[A-Za-z]*c[A-Za-z]*$`),
		value: regexp.MustCompile(`^[-+][A-Za-z]*[oO]$`), hint: hintShell},
	{name: regexp.MustCompile(`^python[0-9.]*$`), flag: regexp.MustCompile(`^-[A-Za-z]*c`),
		value: regexp.MustCompile(`^-[A-Za-z]*[WX]$`),
		hint:  `pass it as an argument of its own: [python3, -c, "import sys; print(sys.argv[1])", "{{args.who}}"]`},
	{name: regexp.MustCompile(`^node(js)?$`),
		flag:  regexp.MustCompile(`^(-p?e|-p|--eval|--print)($|=)`),
		value: regexp.MustCompile(`^(-r|--require|--import|-C)$`), repeats: true,
		hint: `pass it as an argument of its own: [node, -e, "console.log(process.argv[1])", --, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^perl[0-9.]*$`), flag: regexp.MustCompile(`^-[^-]*[eE]`),
		value: regexp.MustCompile(`^-I$`), repeats: true,
		hint: `pass it as an argument of its own: [perl, -e, "print $ARGV[0]", --, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^ruby[0-9.]*$`), flag: regexp.MustCompile(`^-[^-]*e`),
		value: regexp.MustCompile(`^-[IrC]$`), repeats: true,
		hint: `pass it as an argument of its own: [ruby, -e, "puts ARGV[0]", --, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^cmd$`), flag: regexp.MustCompile(`(?i)^/[ckr]`), rest: true,
		hint: "run the program itself, without cmd"},
	{name: regexp.MustCompile(`^(powershell|pwsh)$`), flag: regexp.MustCompile(`(?i)^[-/]c`),
		rest: true,
		hint: `put the program into a file: [pwsh, -File, hello.ps1, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^env$`), flag: regexp.MustCompile(`^(-[A-Za-z0]*S|--split-string)`),
		value: regexp.MustCompile(`^(-u|-C|--unset|--chdir)$`),
		hint:  `write each argument as an element of its own: [env, LANG=C, program, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^[gmn]?awk$`), flag: regexp.MustCompile(`^(-e|--source)`),
		value: regexp.MustCompile(`^-[FvilE]$`), file: regexp.MustCompile(`^(-f|--file|-E|--exec)`),
		first: true, repeats: true,
		hint: `pass it as a variable: [awk, -v, "who={{args.who}}", "{print who, $1}", names.txt]`},
	{name: regexp.MustCompile(`^g?sed$`), flag: regexp.MustCompile(`^(-[a-zA-Z]*e|--expression)`),
		value: regexp.MustCompile(`^-[lf]$`), file: regexp.MustCompile(`^(-f|--file)`),
		first: true, repeats: true,
		hint: "scripts of sed can start programs; write a program that takes the text as an argument"},
	{name: regexp.MustCompile(`^(ssh|rsh|mosh|autossh)$`),
		value:  regexp.MustCompile(`^-[BbcDEeFIiJLlmOopQRSWw]$`),
		remote: true,
		hint: `the remote shell reads it; pass the value on standard input (stdin: json) to a fixed ` +
			`command, and write -- before a host that is an argument`},
	{name: regexp.MustCompile(`^php[0-9.]*$`), flag: regexp.MustCompile(`^(-[rBRE]|--run)`),
		value: regexp.MustCompile(`^-[cd]$`), repeats: true,
		hint: `pass it as an argument of its own: [php, -r, "echo $argv[1];", --, "{{args.who}}"]`},
	{name: regexp.MustCompile(`^(lua|luajit)[0-9.]*$`), flag: regexp.MustCompile(`^-e`),
		value: regexp.MustCompile(`^-l$`), repeats: true, hint: hintScript},
	{name: regexp.MustCompile(`^(r|rscript|osascript|bun|deno|tclsh|expect)$`),
		flag: regexp.MustCompile(`^(-e|-c|--eval|eval)`), repeats: true, hint: hintScript},
	{name: regexp.MustCompile(`^(su|script|runuser|flock)$`),
		flag: regexp.MustCompile(`^(-c|--command)`), repeats: true, hint: hintScript},
}

const hintScript = "put the program into a file and pass the value as an argument of its own"

// programs reports placeholders within a program text in argv. The interpreter may follow other
// programs, as in [busybox, sh, -c, …] or [env, sh, -c, …].
func (c *checker) programs(argv []string) {
	for i, element := range argv {
		name := element[strings.LastIndexAny(element, `/\`)+1:]
		name = strings.TrimSuffix(strings.ToLower(name), ".exe")
		for _, of := range interpreters {
			if !of.name.MatchString(name) {
				continue
			}
			text := of.text(argv, i+1)
			for _, at := range text {
				if m := placeholder.FindString(argv[at]); m != "" {
					c.Add(jsonpath.Index("$.entry.argv", at), of.hint,
						"%s within a program that %s runs: an argument could be any program", m,
						jsontext.Shorten(name))
				}
			}
			if len(text) > 0 || !startsOthers[name] {
				return
			}
		}
	}
}

// startsOthers are interpreters that, without a program text, start the program in their arguments.
var startsOthers = map[string]bool{"env": true, "su": true, "script": true, "runuser": true,
	"flock": true}

// text returns the indices of the elements of argv, from the interpreter's first option on, that
// contain a program text.
func (p interpreter) text(argv []string, first int) (found []int) {
	switch {
	case p.remote:
		return p.afterHost(argv, first)
	case p.first:
		return p.firstArgument(argv, first)
	case !p.rest:
		return p.afterFlags(argv, first)
	}
	for i := first; i < len(argv); i++ {
		if len(found) > 0 || p.flag.MatchString(argv[i]) {
			found = append(found, i)
		}
	}
	return found
}

// firstArgument returns the texts after flags, or else the first argument that is not an option.
func (p interpreter) firstArgument(argv []string, first int) (found []int) {
	given := false // the program is given by a flag
	for i := first; i < len(argv); i++ {
		switch element := argv[i]; {
		case p.flag.MatchString(element):
			given, found = true, append(found, i)
			if p.takesText(argv, i) {
				i++
				found = append(found, i)
			}
		case p.value.MatchString(element):
			given = given || p.file.MatchString(element)
			i++
		case p.file.MatchString(element):
			given = true
		case given, anOption.MatchString(element) && element != "--":
		default:
			return argument(argv, i)
		}
	}
	return found
}

// takesText reports whether the text of the flag at i is the next element.
func (p interpreter) takesText(argv []string, i int) bool {
	return p.flag.FindString(argv[i]) == argv[i] && i+1 < len(argv)
}

// argument returns the argument at i, or that after the end of options there.
func argument(argv []string, i int) []int {
	if argv[i] == "--" && i+1 < len(argv) {
		i++
	}
	return []int{i}
}

// afterHost returns the elements after the host, and the host itself if it could be an option.
func (p interpreter) afterHost(argv []string, first int) (found []int) {
	for i := first; i < len(argv); i++ {
		switch element := argv[i]; {
		case p.value.MatchString(element):
			i++
		case element == "--": // what follows cannot be an option
			for i += 2; i < len(argv); i++ {
				found = append(found, i)
			}
		case anOption.MatchString(element):
		default:
			for ; i < len(argv); i++ {
				found = append(found, i)
			}
		}
	}
	return found
}

// takesValue reports whether an option is followed by its value.
func (p interpreter) takesValue(element string) bool {
	return p.value != nil && p.value.MatchString(element)
}

// afterFlags parses options as the interpreter does: up to the first element that is not an option.
func (p interpreter) afterFlags(argv []string, first int) (found []int) {
	flagged := false
	for i := first; i < len(argv); i++ {
		switch element := argv[i]; {
		case p.flag.MatchString(element):
			found, flagged = append(found, i), true
		case p.takesValue(element):
			i++
		case anOption.MatchString(element) && (flagged || element != "--"):
		case !flagged:
			return found
		default:
			found, flagged = append(found, i), false
			if !p.repeats {
				return found
			}
		}
	}
	return found
}
