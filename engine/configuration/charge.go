package configuration

// settingsFree are not counted again: there is nothing to gain.
const settingsFree = 64 << 10

// Charge is what is charged for the values of a session's settings: each when it is set, and what is left of them when
// they are counted.
type Charge struct {
	charged, counted int64 // counted is what charged was when they were counted last
}

// Add takes what a value is about to take, after they were counted if that may give something back.
func (c *Charge) Add(name, value string, count func(), take func(bytes int64) error) error {
	bytes := Bytes(name, value)
	if c.charged+bytes > 2*c.counted+settingsFree {
		count()
	}
	if err := take(bytes); err != nil {
		return err
	}
	c.charged += bytes
	return nil
}

// None reports whether nothing is charged.
func (c *Charge) None() bool { return c.charged == 0 }

// Counted has no more charged than there is.
func (c *Charge) Counted(bytes int64, give func(bytes int64)) {
	if bytes < c.charged {
		give(c.charged - bytes)
		c.charged = bytes
	}
	c.counted = c.charged
}
