package account

// Waiting reports whether somebody waits for what is brief.
func (n *Node) Waiting() bool { return n.given.Load() != nil }
