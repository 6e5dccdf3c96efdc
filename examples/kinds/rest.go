package main

import (
	"encoding/json"
	"net/http"
)

var stock = map[string]int{"lamp": 40, "desk": 3, "chair": 12}

// stockAPI serves the tool of the kind rest: GET /items/{item}.
func stockAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{item}", func(w http.ResponseWriter, r *http.Request) {
		item := r.PathValue("item")
		left, ok := stock[item]
		if !ok {
			http.Error(w, "there is no item "+item, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error means that the client has disconnected.
		_ = json.NewEncoder(w).Encode(map[string]any{"item": item,
			"stock": map[string]any{"left": left, "warehouse": "north"}})
	})
	return mux
}
