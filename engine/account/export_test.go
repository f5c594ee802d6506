package account

// Waiting tells whether somebody waits for what is brief.
func (n *Node) Waiting() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.given != nil
}
