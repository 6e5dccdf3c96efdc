package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// A subscriber that stores its position in a file continues there after a restart.
func ExampleSubscribe() {
	c, err := client.Dial(client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	position := audit.Position{WorkflowID: "demo-1a2b3c4d"}
	if stored, err := os.ReadFile("position.json"); err == nil {
		if err := json.Unmarshal(stored, &position); err != nil {
			log.Fatal(err)
		}
	}
	events := audit.Subscribe(c, position)
	for event, err := range events.Events(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Sequence, event.Type, event.Summary)
		stored, err := json.Marshal(events.Position())
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile("position.json", stored, 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
