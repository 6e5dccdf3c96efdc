package toolspecs

import (
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
)

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
	hint          string
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
}

// programs reports placeholders within a program text in argv. The interpreter may follow other
// programs, as in [busybox, sh, -c, …].
func (c commandChecker) programs(argv []string) {
	for i, element := range argv {
		name := element[strings.LastIndexAny(element, `/\`)+1:]
		name = strings.TrimSuffix(strings.ToLower(name), ".exe")
		for _, of := range interpreters {
			if !of.name.MatchString(name) {
				continue
			}
			for _, at := range of.text(argv, i+1) {
				if m := placeholder.FindString(argv[at]); m != "" {
					c.Add(jsonpath.Index("$.entry.argv", at), of.hint,
						"%s within a program that %s runs: an argument could be any program", m,
						jsontext.Shorten(name))
				}
			}
			return
		}
	}
}

// text returns the indices of the elements of argv, from the interpreter's first option on, that
// contain a program text.
func (p interpreter) text(argv []string, first int) (found []int) {
	if !p.rest {
		return p.afterFlags(argv, first)
	}
	for i := first; i < len(argv); i++ {
		if len(found) > 0 || p.flag.MatchString(argv[i]) {
			found = append(found, i)
		}
	}
	return found
}

// afterFlags parses options as the interpreter does: up to the first element that is not an option.
func (p interpreter) afterFlags(argv []string, first int) (found []int) {
	flagged := false
	for i := first; i < len(argv); i++ {
		switch element := argv[i]; {
		case p.flag.MatchString(element):
			found, flagged = append(found, i), true
		case p.value.MatchString(element):
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
