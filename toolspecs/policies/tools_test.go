package policies

import (
	"strings"
	"testing"
)

// The fault has suggestions. A rule may read an argument of any of its tools.
func TestDecodeFor_ReportsUnknownToolsAndArguments(t *testing.T) {
	tools := Tools{"pay": {Names: []string{"amount", "to"}}, "look": {Names: []string{"path"}},
		"free": {Any: true}}
	for when, want := range map[string]string{
		"has(args.amount) && args['to'] == 'x', tools: [pay]": "",
		"args.?amount.orValue(0) > 1, tools: [pay, look]":     "",
		"args.amuont > 1, tools: [pay]":                       `rule "a" reads args.amuont, which none of its tools takes (did you mean "amount"?)`,
		"args['path'] == 'x', tools: [pay]":                   `reads args.path, which none of its tools takes`,
		"args.?amont.orValue(0) > 1, tools: [pay, look]":      `reads args.amont`,
		"args.anything == 1, tools: [pay, free]":              "",
		"args.anything == 1":                                  "",
		"tool.name == 'x', tools: [pya]":                      `there is no tool "pya" (did you mean "pay"?)`,
		"args.exists(k, k == 'amuont'), tools: [pay]":         "",
	} {
		expression, rest, _ := strings.Cut(when, ", tools")
		if rest != "" {
			rest = ", tools" + rest
		}
		file := "policies:\n  - {name: a, then: deny, message: no, when: \"" + expression + "\"" +
			rest + "}\n"
		_, err := DecodeFor("rules.yaml", []byte(file), tools)
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: got %s", when, got)
			}
		} else if want != "" {
			t.Errorf("%s: no fault", when)
		}
		if _, err := Decode("rules.yaml", []byte(file)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	delete(tools, "free")
	if _, err := DecodeFor("rules.yaml",
		[]byte("policies:\n  - {name: a, then: deny, message: no, when: args.anything == 1}\n"),
		tools); err == nil {
		t.Error("an argument that no tool takes is no fault")
	}
}

// Conditions name tools as values that are compared with names, and as keys of calls.
func TestDecodeFor_ReportsUnknownToolsInConditions(t *testing.T) {
	tools := Tools{"pay": {Any: true}, "send_mail": {Any: true}}
	for when, want := range map[string]string{
		"tool.name == 'pay' || 'send_mail' != tool.name":                    "",
		"tool.name == 'pya'":                                                `rule "a" names the tool "pya", which does not exist (did you mean "pay"?)`,
		"tool.name in ['pay', 'send_mial']":                                 `the tool "send_mial"`,
		"calls.exists(c, c.tool == 'send_mial' && c.args.x == 'y')":         `the tool "send_mial"`,
		"calls.filter(c, c.tool in ['send_mail', 'x']).size() > 1":          `the tool "x"`,
		"calls.pay.made > 1 && calls['pay'].failed == 0":                    "",
		"calls.pya.made > 1":                                                `the tool "pya"`,
		"calls['pya'].made > 1":                                             `the tool "pya"`,
		"sources(args.to).exists(s, s.tool == 'pya')":                       `the tool "pya"`,
		"principal.past('1h').exists(c, c.tool == 'pya')":                   `the tool "pya"`,
		"tool.category == 'x' && args.tool == 'y' && caller.id == 'pya'":    "",
		"caller.claims[?'tool'].orValue('') == 'x' || run.agent == 'clerk'": "",
	} {
		for _, file := range []string{
			"policies: [{name: a, then: deny, message: no, when: \"" + when + "\"}]",
			"policies: [{name: a, then: deny, message: no, when: 'true', unless: shared}]\n" +
				"define: {shared: \"" + when + "\"}"} {
			_, err := DecodeFor("rules.yaml", []byte(file), tools)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", file, err, want)
			}
		}
	}
}
