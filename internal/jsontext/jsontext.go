package jsontext

import "slices"

// Object is a JSON object that remembers the order of its keys.
type Object struct {
	Keys    []string
	Members map[string]any
}

// NewObject returns an empty object.
func NewObject() *Object { return &Object{Members: map[string]any{}} }

// Set gives a member a value. A new key comes last; another value for a key keeps its place.
func (o *Object) Set(key string, value any) {
	if _, again := o.Members[key]; !again {
		o.Keys = append(o.Keys, key)
	}
	o.Members[key] = value
}

// Get returns the value of a member; nil if it is absent.
func (o *Object) Get(key string) any {
	if o == nil {
		return nil
	}
	return o.Members[key]
}

// Has reports whether there is a member with the key.
func (o *Object) Has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.Members[key]
	return ok
}

// Delete removes a member.
func (o *Object) Delete(key string) {
	if o.Has(key) {
		delete(o.Members, key)
		o.Keys = slices.DeleteFunc(o.Keys, func(k string) bool { return k == key })
	}
}

// Copy returns a copy whose members can be changed independently of o.
func (o *Object) Copy() *Object {
	c := NewObject()
	for _, key := range o.Names() {
		c.Set(key, o.Members[key])
	}
	return c
}

// Names returns the keys in order. A nil object has none.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	return o.Keys
}

// Member returns a member of v if v is an object that has it with type T; else the zero value.
func Member[T any](v any, key string) T {
	var none T
	o, ok := v.(*Object)
	if !ok || o == nil {
		return none
	}
	if m, ok := o.Members[key].(T); ok {
		return m
	}
	return none
}
