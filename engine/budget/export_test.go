package budget

// Tidy is what the room's goroutine does now and then.
func (r *Room) Tidy() { r.tidy() }

// WorthFreeing is worthFreeing.
var WorthFreeing = worthFreeing
