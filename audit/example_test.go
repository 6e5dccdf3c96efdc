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

// A subscriber that keeps its position in a file. Started again, it goes on where it stopped.
func ExampleSubscribe() {
	c, err := client.Dial(client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	position := audit.Position{WorkflowID: "demo-1a2b3c4d"}
	if kept, err := os.ReadFile("position.json"); err == nil {
		if err := json.Unmarshal(kept, &position); err != nil {
			log.Fatal(err)
		}
	}
	events := audit.Subscribe(c, position)
	for event, err := range events.Events(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Sequence, event.Type, event.Summary)
		kept, err := json.Marshal(events.Position())
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile("position.json", kept, 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
