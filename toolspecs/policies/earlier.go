package policies

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// earlierCall is an earlier call as expressions read it.
type earlierCall struct {
	ID   string         `cel:"id"`
	Tool string         `cel:"tool"`
	Args map[string]any `cel:"args"`
	// Result is the output of a completed call, as JSON where it is, else text; the message of a
	// failed one; null for others.
	Result any       `cel:"result"`
	Status string    `cel:"status"`
	Turn   int64     `cel:"turn"`
	Time   time.Time `cel:"time"`
	Labels []string  `cel:"labels"`
}

// derived is what expressions need of an earlier call, computed once per worker.
type derived struct {
	call   *api.EarlierCall
	value  func() ref.Val
	native func() earlierCall
	result func() *passage
	// arguments are the texts in the arguments.
	arguments func() *passage
	// window is the calls up to this one, as they were used last.
	window atomic.Pointer[window]
}

// window is calls that have ended, with indexes by their fields. Rules, calls and turns share it.
type window struct {
	first *api.EarlierCall
	calls []*derived

	mu sync.Mutex
	// byField has the calls of a window by the text of a field. It has no entry for a field that
	// nobody asked about, and nil for one that is not a text in all calls.
	byField map[string]map[string]*window
}

// loadWindow returns the window of calls that have ended.
func loadWindow(ended []*api.EarlierCall, adapt types.Adapter) *window {
	if len(ended) == 0 {
		return &window{}
	}
	last := loadDerived(ended[len(ended)-1], adapt)
	known := last.window.Load()
	if known != nil && known.first == ended[0] && len(known.calls) == len(ended) {
		return known
	}
	w := &window{first: ended[0], calls: make([]*derived, len(ended))}
	for i, c := range ended {
		w.calls[i] = loadDerived(c, adapt)
		w.calls[i].window.Store(nil) // windows of earlier turns would take memory
	}
	last.window.Store(w)
	return w
}

// with returns the calls of which a field is a text; nil if the index does not tell.
func (w *window) with(field, wanted string) *window {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	byText, known := w.byField[field]
	if !known {
		byText = groupByText(w.calls, field)
		if w.byField == nil {
			w.byField = map[string]map[string]*window{}
		}
		w.byField[field] = byText
	}
	if part := byText[wanted]; part != nil || byText == nil {
		return part
	}
	return &window{}
}

// groupByText returns calls by the text of a field; nil if it is not a text in all of them.
func groupByText(calls []*derived, field string) map[string]*window {
	byText := map[string]*window{}
	for _, d := range calls {
		text, ok := d.text(field)
		if !ok {
			return nil
		}
		if byText[text] == nil {
			byText[text] = &window{}
		}
		byText[text].calls = append(byText[text].calls, d)
	}
	return byText
}

// loadDerived returns what was computed from a call, or computes it.
func loadDerived(c *api.EarlierCall, adapt types.Adapter) *derived {
	if known, ok := c.Derived.Load().(*derived); ok {
		return known
	}
	d := &derived{call: c}
	d.native = sync.OnceValue(func() earlierCall { return toNative(c) })
	d.value = sync.OnceValue(func() ref.Val { return adapt.NativeToValue(d.native()) })
	d.result = sync.OnceValue(func() *passage { return newPassage(resultText(c)) })
	d.arguments = sync.OnceValue(func() *passage { return newPassage(argumentsText(c)) })
	c.Derived.Store(d)
	return d
}

func toNative(c *api.EarlierCall) earlierCall {
	e := earlierCall{ID: c.ID, Tool: c.Tool, Args: map[string]any{}, Status: string(c.Status),
		Turn: int64(c.Turn), Time: c.Time.UTC(), Labels: append([]string{}, c.Labels...)}
	if args, ok := jsonValue(json.RawMessage(c.Arguments)).(map[string]any); ok {
		e.Args = args
	}
	switch {
	case c.NotKept:
		e.Result = types.WrapErr(errNotKept)
	case len(c.Result) > 0:
		e.Result = jsonValue(c.Result)
	case c.Text != "":
		e.Result = c.Text
	default:
		e.Result = types.NullValue
	}
	if e.Result == nil {
		e.Result = types.NullValue
	}
	return e
}

// jsonValue returns a JSON value as expressions read it; nil for what is not JSON.
func jsonValue(data json.RawMessage) any {
	value, err := jsonvalue.Decode(data)
	if err != nil {
		return nil
	}
	return celNumbers(value)
}

// callList is the earlier calls, or some of them. Their values are made when they are needed.
type callList struct {
	*lazyCalls
}

type lazyCalls struct {
	calls  []*derived
	adapt  types.Adapter
	values traits.Lister
	// narrowed has the results of where.
	narrowed map[string]callList
	// window is the beginning of calls, which has indexes; nil if there is none.
	window *window
}

// list returns the values of the calls. One evaluation uses it at a time.
func (l *lazyCalls) list() traits.Lister {
	if l.values == nil {
		values := make([]ref.Val, len(l.calls))
		for i, c := range l.calls {
			values[i] = c.value()
		}
		l.values = types.NewRefValList(l.adapt, values)
	}
	return l.values
}

// Add, Contains, Get, Iterator and Size are those of a list.
func (l callList) Add(other ref.Val) ref.Val      { return l.list().Add(other) }
func (l callList) Contains(value ref.Val) ref.Val { return l.list().Contains(value) }
func (l callList) Get(index ref.Val) ref.Val      { return l.list().Get(index) }
func (l callList) Iterator() traits.Iterator      { return l.list().Iterator() }
func (l callList) Size() ref.Val                  { return types.Int(len(l.calls)) }

// ConvertToNative, ConvertToType, Equal, Type and Value are those of a value.
func (l callList) ConvertToNative(t reflect.Type) (any, error) {
	return l.list().ConvertToNative(t)
}
func (l callList) ConvertToType(t ref.Type) ref.Val { return l.list().ConvertToType(t) }
func (l callList) Equal(other ref.Val) ref.Val      { return l.list().Equal(other) }
func (l callList) Type() ref.Type                   { return types.ListType }
func (l callList) Value() any                       { return l.list().Value() }

// where leaves out the calls of which a field certainly differs from a value: the loop over the
// rest decides. It returns the list itself where it cannot tell.
func where(args ...ref.Val) ref.Val {
	l, isCalls := args[0].(callList)
	field, isField := args[1].(types.String)
	wanted, isText := args[2].(types.String)
	if !isCalls || !isField || !isText {
		return args[0]
	}
	key := string(field) + "\x00" + string(wanted)
	if known, ok := l.narrowed[key]; ok {
		return known
	}
	narrowed := callList{l.with(string(field), string(wanted))}
	if l.narrowed == nil {
		l.narrowed = map[string]callList{}
	}
	l.narrowed[key] = narrowed
	return narrowed
}

// with returns the calls of which a field may be a text.
func (l *lazyCalls) with(field, wanted string) *lazyCalls {
	narrowed := &lazyCalls{adapt: l.adapt, window: l.window.with(field, wanted)}
	rest := l.calls
	if narrowed.window != nil {
		narrowed.calls = slices.Clip(narrowed.window.calls)
		rest = rest[len(l.window.calls):]
	}
	for _, d := range rest {
		if has, known := d.text(field); !known || has == wanted {
			narrowed.calls = append(narrowed.calls, d)
		}
	}
	return narrowed
}

// text returns a field, or an argument as args.NAME, and whether it is a text. Others are left to
// the loop, because equal numbers have several forms.
func (d *derived) text(field string) (text string, ok bool) {
	switch field {
	case fieldTool:
		return d.call.Tool, true
	case fieldStatus:
		return string(d.call.Status), true
	}
	text, ok = d.native().Args[field[len(argsPrefix):]].(string)
	return text, ok
}

// Fields of where; argsPrefix precedes the name of an argument.
const (
	fieldTool   = "tool"
	fieldStatus = "status"
	argsPrefix  = "args."
)
