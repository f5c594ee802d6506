package account

// Waiting reports whether a session waits for what is brief.
func (n *Node) Waiting() bool { return n.given.Load() != nil }
