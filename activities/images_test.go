package activities

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/activities/executor/mcp"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/chat"
	"github.com/switchyard/switchyard/activities/models/messages"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
)

// picture returns a PNG of that size; noise makes it large in bytes too.
func picture(t testing.TB, side int, noise bool) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, side, side))
	if noise {
		random := rand.New(rand.NewPCG(1, 2))
		for i := range m.Pix {
			m.Pix[i] = byte(random.Uint32())
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// seeing returns a process whose model accepts images, and the run's setup.
func seeing(t *testing.T, images bool) (*bench, *api.Setup, *mcp.Executor) {
	t.Helper()
	files := mcp.New(mcp.Options{Files: filepath.Join(t.TempDir(), "files")})
	t.Cleanup(files.Close)
	b := setUp(t, catalogOf(t), func(c *Config) {
		c.Stored = files.ReadStored
		var err error
		if c.ModelTable, err = modeltable.Decode("m.yaml",
			[]byte("as_of: 2026-06-21\nmodels:\n  sees: {input: 1, output: 1, images: true}\n  blind: {input: 1, output: 1}\n")); err != nil {
			t.Fatal(err)
		}
	})
	name := "blind"
	if images {
		name = "sees"
	}
	return b, &api.Setup{Agent: &api.Agent{Model: api.Model{Name: name}}}, files
}

// answeredWith returns the message about a call whose MCP server answered with content.
func answeredWith(t testing.TB, m *mcp.Executor, id string, content ...sdk.Content) api.Message {
	t.Helper()
	output, err := m.EncodeParts(content, 0)
	if err != nil {
		t.Fatal(err)
	}
	return api.CallOutcome{ID: id, Result: &api.Result{Output: output,
		Notes: []string{"a note"}}}.Message()
}

// The model gets images of MCP answers that are small enough, complete and of a supported type,
// from the result or from a file of this worker, and none that its provider would refuse.
func TestImages_OfResultsAreShown(t *testing.T) {
	small, large := picture(t, 10, false), picture(t, 200, true)
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 9, 9)), nil); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		content sdk.Content
		want    []models.Image
	}{
		{"in the result", &sdk.ImageContent{MIMEType: "image/png", Data: small},
			[]models.Image{{MIMEType: "image/png", Data: small}}},
		{"in a file", &sdk.ImageContent{MIMEType: "image/png", Data: large},
			[]models.Image{{MIMEType: "image/png", Data: large}}},
		{"jpeg", &sdk.ImageContent{MIMEType: "image/jpeg", Data: photo.Bytes()},
			[]models.Image{{MIMEType: "image/jpeg", Data: photo.Bytes()}}},
		{"of another type than it says", &sdk.ImageContent{MIMEType: "image/jpeg", Data: small},
			nil},
		{"cut", &sdk.ImageContent{MIMEType: "image/png", Data: large[:len(large)/2]}, nil},
		{"no image", &sdk.ImageContent{MIMEType: "image/png", Data: []byte("no image")}, nil},
		{"empty", &sdk.ImageContent{MIMEType: "image/png"}, nil},
		{"too wide", &sdk.ImageContent{MIMEType: "image/png", Data: picture(t, maxImageSide+1,
			false)}, nil},
		{"too many bytes", &sdk.ImageContent{MIMEType: "image/png", Data: append(bytes.Clone(large),
			make([]byte, maxImage)...)}, nil},
		{"drawing", &sdk.ImageContent{MIMEType: "image/svg+xml", Data: []byte("<svg/>")}, nil},
		{"sound", &sdk.AudioContent{MIMEType: "audio/wav", Data: small}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, setup, files := seeing(t, true)
			message := answeredWith(t, files, "1.1", &sdk.TextContent{Text: "see:"}, c.content)
			for range 2 { // the second time it is known already
				if got := b.images(setup, []api.Message{message})["1.1"]; !reflect.DeepEqual(got,
					c.want) {
					t.Errorf("%d images are shown, want %d", len(got), len(c.want))
				}
			}
			message.Failed = true
			if got := b.images(setup, []api.Message{message}); len(got) > 0 {
				t.Error("a failure shows images")
			}
		})
	}
}

// Of too many images, the newest are shown. A model without support gets none, and missing or
// changed files are omitted.
func TestImages_AreBounded(t *testing.T) {
	b, setup, files := seeing(t, true)
	one := &sdk.ImageContent{MIMEType: "image/png", Data: picture(t, 200, true)}
	var messages []api.Message
	for i := range maxImages + 2 {
		messages = append(messages, answeredWith(t, files, api.TurnCallID(i+1, 1), one))
	}
	got := b.images(setup, messages)
	if len(got) != maxImages || got["1.1"] != nil || got["2.1"] != nil || got["3.1"] == nil {
		t.Errorf("%d results have images", len(got))
	}
	if blind, other, _ := seeing(t, false); len(blind.images(other, messages)) > 0 {
		t.Error("a model that sees no images is shown some")
	}
	stored, err := filepath.Glob(filepath.Join(files.Options.Files, "*", "*.png"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("%v, %v", stored, err)
	}
	if err := os.WriteFile(stored[0], picture(t, 5, false), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.images(setup, messages); len(got) > 0 {
		t.Error("another file is shown in place of the one that was stored")
	}
	if err := os.Remove(stored[0]); err != nil {
		t.Fatal(err)
	}
	b.config.Stored = nil
	if got := b.images(setup, messages); len(got) > 0 {
		t.Error("images are shown that are not here")
	}
	for _, digest := range []string{"", "../../../../etc/passwd", "zz"} {
		if _, err := files.ReadStored(digest, "image/png"); err == nil {
			t.Errorf("%q is read", digest)
		}
	}
	for _, text := range []string{`[{"type":"image"`, `[{"type":"image","data":5}]`,
		`[{"type":"text","text":"\"image\""}]`, `{"image":1}`} {
		if parts := imageParts(text); len(parts) > 0 {
			t.Errorf("%s has %d images", text, len(parts))
		}
	}
}

// Anthropic gets the images within the result, OpenAI in a message of the user after all results of
// the turn.
func TestImages_FollowTheProtocol(t *testing.T) {
	data := picture(t, 4, false)
	p := modelserver.NewPrompt(
		api.Message{Role: api.RoleUser, Text: "look"},
		api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "1.1", Tool: "see"},
			{ID: "1.2", Tool: "see"}}},
		api.Message{Role: api.RoleTool, CallID: "1.1", Text: "one"},
		api.Message{Role: api.RoleTool, CallID: "1.2", Text: "two"},
	)
	p.Images = map[string][]models.Image{"1.1": {{MIMEType: "image/png", Data: data}}}
	encoded, err := json.Marshal(base64.StdEncoding.EncodeToString(data))
	if err != nil {
		t.Fatal(err)
	}
	server, chat := openAIModel(t, modelserver.Completion(`{"role":"assistant","content":"hi"}`,
		"stop"))
	if _, err := chat.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	messages := server.Body["messages"].([]any)
	if want := modelserver.Decode(t,
		`{"role":"user","content":[{"type":"text","text":"An image in the result of call 1.1:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+
			string(encoded[1:])+`}}]}`); len(messages) != 5 || !reflect.DeepEqual(messages[4],
		want) {
		t.Errorf("openai was sent %v", messages)
	}
	server, claude := anthropicModel(t, modelserver.Message(`[{"type":"text","text":"hi"}]`,
		"end_turn"))
	if _, err := claude.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	messages = server.Body["messages"].([]any)
	want := modelserver.Decode(t, `{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"wbpcir3cw","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":`+string(encoded)+`}}]},
		{"type":"tool_result","tool_use_id":"o6wddg76d","content":[{"type":"text","text":"two"}],"cache_control":{"type":"ephemeral"}}]}`)
	if len(messages) != 3 || !reflect.DeepEqual(messages[2], want) {
		t.Errorf("anthropic was sent %v", messages)
	}
}

// openAIModel returns a model of the provider OpenAI that reaches handle.
func openAIModel(t testing.TB, handle http.HandlerFunc) (*modelserver.Server, chat.Provider) {
	t.Helper()
	s := modelserver.New(t, handle)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", modelserver.Key)
	return s, chat.New(openai.NewServer())
}

// anthropicModel returns a model of the provider Anthropic that reaches handle.
func anthropicModel(t testing.TB, handle http.HandlerFunc) (*modelserver.Server,
	*messages.Provider) {
	t.Helper()
	s := modelserver.New(t, handle)
	t.Setenv("ANTHROPIC_BASE_URL", s.URL)
	t.Setenv("ANTHROPIC_API_KEY", modelserver.Key)
	return s, messages.New()
}
