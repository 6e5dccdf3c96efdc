package switchyard_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// retired has the words that identifiers no longer use, each with the term that replaces it
// (docs/glossary.md).
var retired = map[string]string{
	"deed":     "action",
	"deeds":    "actions",
	"handback": "requeue",
	"recall":   "load conversation",
	"recalled": "loaded",
	"settle":   "finalize",
	"settled":  "finalized",
	"tpst":     "tokens per solved run",
	"judge":    "evaluate",
	"judged":   "evaluated",
	"verdict":  "decision or evaluation",
	"verdicts": "decisions or evaluations",
	"carry":    "continue state",
	"carried":  "continued",
	"graver":   "WorstError",
	"partly":   "skip invalid",
	"spoken":   "model stream",
	"standing": "status",
	"undoes":   "purpose and target call id",
	"verifies": "purpose and target call id",
	"together": "batched",
	"hold":     "instance host",
	"held":     "hosted",
	"door":     "worker slots",
	"doors":    "worker slots",
	"pieces":   "pretokenize",
	"house":    "say it without a metaphor",
	"room":     "package, or history budget",
	"rooms":    "packages",
	"begun":    "started",
	"brief":    "call stats",
}

// retiredWords returns why a name at a position is refused: one line for each retired word.
func retiredWords(at token.Position, name string) (faults []string) {
	for _, word := range words(name) {
		if term, ok := retired[word]; ok {
			faults = append(faults, fmt.Sprintf("%s: %s has the retired word %q; the term is %s",
				at, name, word, term))
		}
	}
	return faults
}

// retiredIn returns the positions of identifiers that a file declares with a retired word, and the
// word.
func retiredIn(set *token.FileSet, file *ast.File) (faults []string) {
	check := func(id *ast.Ident) {
		if id != nil {
			faults = append(faults, retiredWords(set.Position(id.Pos()), id.Name)...)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.File:
			check(n.Name)
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				check(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				check(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						check(id)
					}
				}
			}
		}
		return true
	})
	return faults
}

func TestIdentifiers_UseNoRetiredWord(t *testing.T) {
	for _, s := range goFiles(t) {
		for _, fault := range retiredIn(s.parseWithPositions(t)) {
			t.Error(fault)
		}
	}
	sample := source{name: "p/a.go",
		text: []byte("package p\n\nfunc settleAll(verdict int) { room := 1; withheld := 2 }\n")}
	got := retiredIn(sample.parseWithPositions(t))
	if len(got) != 3 {
		t.Errorf("three identifiers have retired words, found %q", got)
	}
}

// named are the folders whose constants and literals become names and ids in histories: of
// activities, signals, queues and fields. audit/html is left out: its words are CSS classes.
var named = []string{"api/", "workflows/", "activities/", "worker/host/", "toolspecs/", "audit/"}

// nameLike matches texts that are names, such as switchyard/host_instance, and not sentences.
var nameLike = regexp.MustCompile(`^[a-z0-9_./-]+$`)

// fieldNames are names with a retired word that stay, because the field uses them in this sense:
// payments settle when their outcome is certain.
var fieldNames = regexp.MustCompile(`settle_after$`)

// retiredNamesIn returns the string literals of a file that are names with a retired word, among
// them the names of JSON and YAML fields.
func retiredNamesIn(set *token.FileSet, file *ast.File) (faults []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		tag := reflect.StructTag(text)
		for _, name := range []string{text, tag.Get("json"), tag.Get("yaml")} {
			name, _, _ = strings.Cut(name, ",")
			if nameLike.MatchString(name) && !fieldNames.MatchString(name) {
				name = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(name)
				faults = append(faults, retiredWords(set.Position(literal.Pos()), name)...)
			}
		}
		return true
	})
	return faults
}

func TestNames_UseNoRetiredWord(t *testing.T) {
	for _, s := range goFiles(t) {
		if !s.isTest() && slices.ContainsFunc(named, func(folder string) bool {
			return strings.HasPrefix(s.name, folder) && !strings.HasPrefix(s.name, "audit/html/")
		}) {
			for _, fault := range retiredNamesIn(s.parseWithPositions(t)) {
				t.Error(fault)
			}
		}
	}
	sample := source{name: "p/a.go", text: []byte("package p\n\n" +
		"const id, queue = \"recall\", \"/hold/general\"\n\n" +
		"const text = \"it was held up\"\n\n" +
		"type run struct { Evaluation int `json:\"verdict,omitempty\"` }\n")}
	if got := retiredNamesIn(sample.parseWithPositions(t)); len(got) != 3 {
		t.Errorf("three names have retired words, found %q", got)
	}
}

func TestWords_SplitIdentifiers(t *testing.T) {
	for name, want := range map[string][]string{
		"callRun": {"call", "run"}, "HTTPServer": {"http", "server"}, "max_size": {"max", "size"},
		"withheld": {"withheld"}, "ID": {"id"},
	} {
		if got := words(name); !slices.Equal(got, want) {
			t.Errorf("words of %s are %q, want %q", name, got, strings.Join(want, " "))
		}
	}
}
