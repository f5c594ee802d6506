package gathering

import "time"

// company is what a line knows of the sessions that use it: those whose rows were just stored tend to come again, and
// a commit that takes them along is worth a wait that is short beside it. PostgreSQL's commit_siblings and
// commit_delay have the same in mind; here both are what was observed. Times are given: it reads no clock.
type company struct {
	expected int           // that may come together: those of the last gathering, and those that waited when it ended
	took     time.Duration // how long storing it took
	ended    time.Time
	vain     uint // waits in a row after which not all were there
	spared   uint // gatherings since the last one of them
}

const (
	// worth is the shortest commit for which others are awaited.
	worth = time.Millisecond
	// patience bounds the wait.
	patience = 5 * time.Millisecond
	// vainMost bounds for how many gatherings no wait is tried: 2 to this power.
	vainMost = 6
)

// wait is how long to wait, at the beginning of a gathering, for company beside the sessions that there are.
func (c *company) wait(now time.Time, there int) time.Duration {
	if there >= c.expected || c.took < worth || now.Sub(c.ended) > c.took {
		return 0 // all are there, or it costs too much, or they would have come by now
	}
	if c.vain > 0 && c.spared < 1<<min(c.vain, vainMost) {
		c.spared++
		return 0
	}
	return min(c.took/2, patience)
}

// waited notes whether all came that were awaited.
func (c *company) waited(all bool) {
	c.spared = 0
	if c.vain++; all {
		c.vain = 0
	}
}

// stored notes a gathering.
func (c *company) stored(now time.Time, took time.Duration, taken, waiting int) {
	c.ended, c.took, c.expected = now, took, taken+waiting
}
