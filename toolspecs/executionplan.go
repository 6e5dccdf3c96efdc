package toolspecs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// Values of a toolspec's execution_plan.
const (
	// PlanRequired rejects calls without an execution plan; planOptional describes plans to models.
	// By default a call may carry a plan but models do not see the parameter.
	PlanRequired = "required"
	planOptional = "optional"
	// planNone treats an argument of that name as an ordinary argument of the tool.
	planNone = "none"
)

// planPath is the path of an execution plan in a call's arguments.
const planPath = jsonpath.Root + "." + api.PlanArgument

// planJSON is the JSON Schema of an execution plan.
//
//go:embed executionplan.json
var planJSON json.RawMessage

// planForm validates objects with an execution plan.
var planForm = sync.OnceValue(func() *schemas.Form {
	form, _, err := schemas.Compile(fmt.Appendf(nil, `{"type": "object", "properties": {"%s": %s}}`,
		api.PlanArgument, planJSON), nil, nil)
	if err != nil {
		panic("the schema of execution plans: " + err.Error()) // a test compiles it
	}
	return form
})

// TakePlan removes the execution plan from a call's arguments and returns the remaining text as
// rest. rest is unchanged if there is no plan, the text is not a JSON object, or the tool declares
// a parameter of that name. problems lists all violations, including bounds that do not apply to
// the tool; with any, plan is nil.
func (c *Compiled) TakePlan(text string) (rest string, plan *api.ExecutionPlan,
	problems []api.Problem) {
	if !strings.Contains(text, api.PlanArgument) && !strings.Contains(text, `\u`) ||
		!c.takesPlans() {
		return text, nil, nil
	}
	value, jsonErr := jsontext.ParseOrdered([]byte(text))
	arguments, ok := value.(*jsontext.Object)
	if jsonErr != nil || !ok {
		return text, nil, nil
	}
	given, ok := arguments.Members[api.PlanArgument]
	if !ok {
		return text, nil, nil
	}
	arguments.Delete(api.PlanArgument)
	plan, problems = readPlan(given)
	if len(problems) == 0 {
		problems = c.limitsFor(plan)
	}
	if len(problems) > 0 {
		plan = nil
	}
	return string(jsontext.Encode(arguments, nil)), plan, problems
}

// takesPlans reports whether an argument of that name is an execution plan.
func (c *Compiled) takesPlans() bool {
	return c.Spec.ExecutionPlan != planNone && !c.inputShape.Has(api.PlanArgument)
}

// NeedsPlan reports whether a call of the tool must carry an execution plan.
func (c *Compiled) NeedsPlan() bool { return c.Spec.ExecutionPlan == PlanRequired }

func readPlan(given any) (*api.ExecutionPlan, []api.Problem) {
	arguments := jsontext.NewObject()
	arguments.Set(api.PlanArgument, given)
	checked, _, problems := planForm().Arguments(string(jsontext.Encode(arguments, nil)), false)
	if len(problems) > 0 {
		return nil, problems
	}
	var args struct {
		Plan struct {
			api.ExecutionPlan
			Limits struct {
				api.PlanLimits
				Timeout string `json:"timeout"`
			} `json:"limits"`
		} `json:"execution_plan"`
	}
	if err := json.Unmarshal(checked, &args); err != nil {
		return nil, []api.Problem{{Path: planPath, Rule: api.RuleType, Message: err.Error()}}
	}
	plan := args.Plan.ExecutionPlan
	plan.Limits = args.Plan.Limits.PlanLimits
	if text := args.Plan.Limits.Timeout; text != "" {
		if err := plan.Limits.Timeout.UnmarshalText([]byte(text)); err != nil ||
			plan.Limits.Timeout == 0 {
			return nil, []api.Problem{{Path: planPath + ".limits.timeout", Rule: api.RuleType,
				Message: fmt.Sprintf(
					"%s is not a duration; write a number and a unit, such as 500ms, 30s or 2h",
					jsontext.Shorten(text))}}
		}
	}
	return &plan, nil
}

// limitsFor returns problems for the bounds in a plan that do not apply to a call of the tool: a
// bound that cannot be enforced is rejected.
func (c *Compiled) limitsFor(plan *api.ExecutionPlan) (problems []api.Problem) {
	isRun, agent := c.Dispatch() == api.DispatchChildWorkflow, c.Spec.Entry.Common().Agent != nil
	l := plan.Limits
	for _, bound := range []struct {
		name   string
		set    bool
		hosted bool
	}{
		{"max_attempts", l.MaxAttempts > 0, !isRun},
		{"max_turns", l.MaxTurns > 0, agent},
		{"max_calls", l.MaxCalls > 0, isRun},
		{"max_tokens", l.MaxTokens > 0, isRun},
		{"max_cost", l.MaxCost > 0, isRun},
	} {
		if bound.set && !bound.hosted {
			message := fmt.Sprintf("%s bounds agents, but %s is not one; remove it", bound.name,
				c.Spec.Name)
			if isRun {
				message = fmt.Sprintf("%s does not bound %ss, and %s is one; remove it", bound.name,
					c.Spec.Entry.Type(), c.Spec.Name)
			}
			problems = append(problems, api.Problem{Path: planPath + ".limits." + bound.name,
				Rule: "limit", Message: message})
		}
	}
	return problems
}

// ModelSchema returns the JSON Schema of the arguments that models get. It includes the execution
// plan if the spec requires or offers one.
func (c *Compiled) ModelSchema() json.RawMessage {
	if len(c.modelJSON) == 0 {
		return c.InputSchema()
	}
	return bytes.Clone(c.modelJSON)
}

// compilePlan builds the schema that models get.
func (c *Compiled) compilePlan() error {
	if c.Spec.ExecutionPlan != PlanRequired && c.Spec.ExecutionPlan != planOptional {
		return nil
	}
	value, jsonErr := jsontext.ParseOrdered(c.inputJSON)
	if jsonErr != nil {
		return jsonErr
	}
	root, ok := value.(*jsontext.Object)
	if !ok {
		return fmt.Errorf("the arguments are not an object, so they cannot hold an execution plan")
	}
	schema := root
	properties := jsontext.Member[*jsontext.Object](root, "properties")
	if properties == nil {
		properties = jsontext.NewObject()
		schema.Set("properties", properties)
	}
	properties.Set(api.PlanArgument, schemas.Decode(planJSON))
	if c.NeedsPlan() {
		require(schema, api.PlanArgument)
	}
	c.modelJSON = jsontext.Encode(root, nil)
	return nil
}

// require adds a name to the required list of an object's schema.
func require(o *jsontext.Object, name string) {
	required := jsontext.Member[[]any](o, "required")
	if required == nil {
		o.Set("required", []any{name})
		return
	}
	o.Members["required"] = append(slices.Clone(required), name)
}

// executionPlan checks the execution_plan of a spec.
func (c *checker) executionPlan(s Spec) {
	if s.ExecutionPlan != PlanRequired && s.ExecutionPlan != planOptional {
		return
	}
	taken := shapeOfParameters(s.Parameters, nil, schemas.TypeObject)
	if s.InputSchema != nil {
		taken = schemas.ShapeFromSchema(schemas.Decode(s.InputSchema), "")
	}
	if taken.Has(api.PlanArgument) {
		c.Add("$.execution_plan", "rename the parameter, or write execution_plan: none",
			"the tool declares a parameter %s of its own, so that calls cannot carry an execution plan",
			api.PlanArgument)
	}
}
