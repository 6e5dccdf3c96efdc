package workflows_test

// catalog has the tools of the workers in these tests.
const catalog = `
name: echo
version: 1.0.0
description: Answers with what it gets.
input_schema: {type: object, properties: {value: {}}, required: [value], additionalProperties: false}
entry: {type: function}
execution: {effect: read}
---
name: greet
version: 1.0.0
description: Greets.
parameters:
  - {name: name, type: string, required: true}
  - {name: times, type: integer, default: 1, validation: {min: 1}}
entry: {type: function}
execution: {effect: read}
---
name: store
version: 1.0.0
description: Appends to the store.
parameters: [{name: text, type: string, required: true}]
entry: {type: function}
execution: {lane: serial, access: exclusive, effect: once}
---
name: note
version: 1.0.0
description: Appends to the store, on the general lane.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: store}
execution: {lane: general, access: exclusive, effect: once}
---
name: flaky
version: 1.0.0
description: Fails at its first attempt.
entry: {type: function}
execution: {effect: idempotent, retry: {max_attempts: 3, initial_interval: 10m}}
---
name: broken
version: 1.0.0
description: Fails.
entry: {type: function}
---
name: hang
version: 1.0.0
description: Runs until it is stopped.
entry: {type: function}
execution: {effect: read, timeout: 1h, heartbeat: 1s}
---
name: old
version: 1.0.0
description: Still works.
status: deprecated
input_schema: {type: object, properties: {value: {}}}
entry: {type: function, handler: echo}
---
name: retired
version: 1.0.0
description: Is switched off.
status: disabled
entry: {type: function, handler: echo}
---
name: needy
version: 1.0.0
description: Needs a project.
requires: {variables: [project]}
entry: {type: function, handler: variables}
execution: {effect: read}
`
