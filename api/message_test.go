package api

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Histories contain them, and other processes compute them again.
func TestDigests_AreFrozen(t *testing.T) {
	call := Call{ID: "1.1", Tool: "echo", Arguments: `{"text":"hi"}`}
	tests := []struct{ what, got, want string }{
		{"nothing", Message{}.Digest(), "nZCOz7ayVt74tJp8"},
		{"user", Message{Role: RoleUser, Text: "hello"}.Digest(), "S7eiSGCfFfpXdKVE"},
		{"assistant with a call", Message{Role: RoleAssistant, Text: "t",
			Calls: []Call{call}}.Digest(), "FkY__yfRkMe5yGoE"},
		{"tool", Message{Role: RoleTool, CallID: "1.1", Text: "hi"}.Digest(), "V2tTC3bRDgGs1G3g"},
		{"failed tool", Message{Role: RoleTool, CallID: "1.1", Text: "hi", Failed: true}.Digest(),
			"kOzypmIo0tVA4_hY"},
		{"chain", NextChain("", Message{Role: RoleUser, Text: "hello"}.Digest()),
			"-u9BgnqUeKhRhlP2"},
		{"data", Digest([]byte("hello")), "LPJNul-wow4m6Dsq"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: digest %q, want %q", tt.what, tt.got, tt.want)
		}
		if len(tt.got) != 16 {
			t.Errorf("%s: digest %q has %d characters", tt.what, tt.got, len(tt.got))
		}
	}
}

// messages draws messages from a few short texts, so that two draws are often nearly equal.
func messages() *rapid.Generator[Message] {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 2, -1)
	return rapid.Custom(func(t *rapid.T) Message {
		m := Message{Role: Role(text.Draw(t, "role")), Text: text.Draw(t, "text"),
			CallID: text.Draw(t, "call"), Failed: rapid.Bool().Draw(t, "failed")}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.Calls = append(m.Calls, Call{ID: text.Draw(t, "id"), Tool: text.Draw(t, "tool"),
				Arguments: text.Draw(t, "arguments")})
		}
		return m
	})
}

// Where texts are split does not matter.
func TestDigest_DiffersForDifferentMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := messages().Draw(t, "a"), messages().Draw(t, "b")
		ja, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		jb, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if (string(ja) == string(jb)) != (a.Digest() == b.Digest()) {
			t.Fatalf("%s and %s have digests %s and %s", ja, jb, a.Digest(), b.Digest())
		}
	})
}

func TestNextChain_DependsOnTheOrder(t *testing.T) {
	if NextChain(NextChain("", "a"), "b") == NextChain(NextChain("", "b"), "a") {
		t.Error("two orders of messages give one chain")
	}
}

func TestOutcomeMessage_DescribesEveryOutcome(t *testing.T) {
	done := CallOutcome{ID: "1.1", Result: &Result{Output: json.RawMessage(`"fine"`)}}.Message()
	if done.Role != RoleTool || done.CallID != "1.1" || done.Text != "fine" || done.Failed {
		t.Errorf("of a result: %+v", done)
	}
	failed := CallOutcome{ID: "1.2", Error: Errorf(ErrTimeout, "too slow")}.Message()
	if failed.CallID != "1.2" || !failed.Failed || !strings.HasPrefix(failed.Text,
		"ERROR timeout: too slow") {
		t.Errorf("of an error: %+v", failed)
	}
	if none := (CallOutcome{ID: "1.3"}).Message(); none.Text != "" || none.Failed {
		t.Errorf("of neither: %+v", none)
	}
}

// Pages give every message once and in order. A page is larger than pageBytes only for a single
// message, and any index outside gives a valid page.
func TestPages_ContainTheConversation(t *testing.T) {
	large := strings.Repeat("x", pageBytes/3)
	var conversation []Message
	for i := range 10 {
		conversation = append(conversation, Message{Role: RoleUser, CallID: string(rune('a' + i)),
			Text: large})
	}
	conversation[4].Text = strings.Repeat("y", 3*pageBytes)
	conversation[7] = Message{Role: RoleAssistant, CallID: "h", Calls: []Call{{Arguments: large},
		{Arguments: large}, {Arguments: large}}}
	var read []Message
	pages := 0
	for len(read) < len(conversation) {
		page := NewPage(conversation, len(read))
		if page.From != len(read) || page.Total != len(conversation) ||
			len(page.Messages.Value) == 0 {
			t.Fatalf("page from %d of %d with %d messages after %d", page.From, page.Total,
				len(page.Messages.Value), len(read))
		}
		size := 0
		for _, m := range page.Messages.Value[:len(page.Messages.Value)-1] {
			size += m.Size()
		}
		if size >= pageBytes {
			t.Errorf("page from %d was full before its last message: %d bytes", page.From, size)
		}
		read = append(read, page.Messages.Value...)
		pages++
	}
	if pages < 4 {
		t.Errorf("%d pages hold %d MB", pages, 7)
	}
	for i, m := range read {
		if m.CallID != conversation[i].CallID {
			t.Fatalf("message %d is %q", i, m.CallID)
		}
	}
	for from, want := range map[int]int{-3: 0, 10: 10, 99: 10} {
		if page := NewPage(conversation, from); page.From != want || from > 0 &&
			len(page.Messages.Value) != 0 {
			t.Errorf("page from %d starts at %d with %d messages", from, page.From,
				len(page.Messages.Value))
		}
	}
}
