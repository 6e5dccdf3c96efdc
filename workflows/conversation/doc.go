// Package conversation has the messages of an agent's run, and makes them shorter if they do not
// fit into the model's window.
package conversation
