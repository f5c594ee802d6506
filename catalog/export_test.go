package catalog

// Waiting is how many commits wait for their turn.
func (c *Catalog) Waiting() int { return c.queue.Len() }

// EveryVersion lists what tables are, and what is kept, also of those that are gone.
func (c *Contents) EveryVersion() []*TableVersion { return c.everyVersion() }

// Followed are the prefixes of what every node follows.
func Followed() []string { return followed }
