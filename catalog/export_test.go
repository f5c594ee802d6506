package catalog

// Waiting is how many commits wait for their turn.
func (c *Catalog) Waiting() int {
	c.queue.Lock()
	defer c.queue.Unlock()
	return len(c.queue.waiting)
}
