package expr

// Effect is the effect of an update on a top-level attribute.
type Effect uint8

const (
	SetTo    Effect = iota + 1 // it is set to a value of the request
	Removed                    // it is removed
	Computed                   // its new value depends on the item
)

// Target is a top-level attribute that an update touches.
type Target struct {
	Name   string
	Effect Effect
	Value  []byte // of SetTo: the attribute value's text
}

// Targets returns the top-level attributes that the update changes, each once.
func (u *Update) Targets() []Target {
	targets := make([]Target, 0, len(u.Actions))
	at := make(map[string]bool, len(u.Actions))
	for i := range u.Actions {
		t := u.Actions[i].target()
		if !at[t.Name] { // if two paths lead into the attribute, both are Computed
			at[t.Name] = true
			targets = append(targets, t)
		}
	}
	return targets
}

func (a *Action) target() Target {
	t := Target{Name: a.Path[0].Name, Effect: Computed}
	if len(a.Path) > 1 {
		return t
	}
	switch {
	case a.Clause == Remove:
		t.Effect = Removed
	case a.Clause == Set && a.Value.Kind == ValueOperand:
		t.Effect, t.Value = SetTo, a.Value.Text
	}
	return t
}

// ProjectUpdated appends the values at the update's paths, {} if there are none: of the item
// after the update for ReturnValues UPDATED_NEW, of the item before it for UPDATED_OLD. It
// returns false if the text is not an item or the update has more paths than a projection
// can hold. It isn't safe for concurrent use.
func (u *Update) ProjectUpdated(dst, item []byte) (out []byte, ok bool) {
	if u.updated == nil {
		p := new(Projection)
		if !p.fromPaths(u.Paths()) {
			return dst, false
		}
		u.updated = p
	}
	return u.updated.Append(dst, item)
}
