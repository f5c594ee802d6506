package catalog

// Waiting is how many commits wait for their turn.
func (c *Catalog) Waiting() int {
	c.queue.Lock()
	defer c.queue.Unlock()
	return len(c.queue.waiting)
}

// EveryVersion lists what tables are, and what is kept, also of those that are gone.
func (c *Contents) EveryVersion() []*TableVersion { return c.everyVersion() }

// Followed are the prefixes of what every node follows.
func Followed() []string { return followed }
