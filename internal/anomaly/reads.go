package anomaly

import (
	"fmt"
	"slices"
)

// readAll looks at each read by itself, and beside what its transaction has done before.
func (c *checker) readAll() {
	for number := range c.history {
		t := &c.history[number]
		if t.Outcome == Committed || c.options.EveryRead {
			c.readsOf(number)
		}
	}
}

func (c *checker) readsOf(number int) {
	t := &c.history[number]
	own := map[Key][]Value{}
	before := map[Key][]Value{} // what was read, without the transaction's own
	for statement, s := range t.Statements {
		for _, o := range s.Operations {
			if o.Append {
				if !o.Undone {
					own[o.Key] = append(own[o.Key], o.Value)
				}
				continue
			}
			values := c.others(number, o, own[o.Key])
			c.values(number, o, values)
			if was, again := before[o.Key]; again && t.Level != ReadCommitted && !c.same(o.Key, was, values) {
				c.report(Internal, []int{number},
					fmt.Sprintf("T%d has one snapshot, and read %v of others in %s, then %v",
						number, was, o.Key, values))
			}
			before[o.Key] = values
			v := c.versions[o.Key]
			v.readings = append(v.readings, len(c.readings))
			c.readings = append(c.readings, reading{number, statement, o.Key, values})
		}
	}
}

func (c *checker) same(key Key, a, b []Value) bool {
	if c.versions[key].set {
		a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	}
	return slices.Equal(a, b)
}

// others is what a read shows of other transactions. The transaction's own values must be there, in a list at its end.
func (c *checker) others(number int, o Operation, own []Value) []Value {
	mine := func(v Value) bool {
		w, ok := c.writers[o.Key][v]
		return ok && w.transaction == number
	}
	others := slices.DeleteFunc(slices.Clone(o.Values), mine)
	shown := slices.DeleteFunc(slices.Clone(o.Values), func(v Value) bool { return !mine(v) })
	if !c.same(o.Key, shown, own) {
		c.report(Internal, []int{number},
			fmt.Sprintf("T%d has appended %v to %s, and read %v", number, own, o.Key, o.Values))
	} else if !c.versions[o.Key].set && !slices.Equal(o.Values[len(others):], own) {
		c.report(Internal, []int{number},
			fmt.Sprintf("T%d has appended %v to %s behind what was there, and read %v", number, own, o.Key, o.Values))
	}
	return others
}

// values checks which transactions have appended the values that a read shows of others.
func (c *checker) values(number int, o Operation, values []Value) {
	v := c.versions[o.Key]
	seen := map[Value]bool{}
	parts := map[int]int{} // how many values of each transaction there are
	var writers []int
	for _, value := range values {
		if seen[value] {
			c.report(Duplicate, []int{number}, fmt.Sprintf("T%d read %d in %s more than once", number, value, o.Key))
			continue
		}
		seen[value] = true
		w, ok := c.writers[o.Key][value]
		if !ok {
			c.report(UnknownValue, []int{number},
				fmt.Sprintf("T%d read %d in %s, which no transaction appended", number, value, o.Key))
			continue
		}
		v.observed[value] = true
		if w.undone || c.history[w.transaction].Outcome == Aborted {
			c.report(G1a, []int{number, w.transaction},
				fmt.Sprintf("T%d read %d in %s, which T%d appended and took back", number, value, o.Key, w.transaction))
			continue
		}
		if parts[w.transaction] == 0 {
			writers = append(writers, w.transaction)
		}
		parts[w.transaction]++
	}
	for _, w := range writers {
		if parts[w] < v.counts[w] {
			c.report(G1b, []int{number, w}, fmt.Sprintf("T%d read %d of the %d values that T%d appended to %s",
				number, parts[w], v.counts[w], w, o.Key))
		}
	}
}

// order infers which versions each list had.
func (c *checker) order() {
	for _, key := range c.keys {
		v := c.versions[key]
		if v.set {
			continue
		}
		longest := -1
		for _, r := range v.readings {
			if longest < 0 || len(c.readings[r].values) > len(v.order) {
				longest, v.order = r, c.readings[r].values
			}
		}
		for _, r := range v.readings {
			one, other := c.readings[r], c.readings[longest]
			if !slices.Equal(one.values, other.values[:len(one.values)]) {
				v.unknown = true
				c.report(IncompatibleOrder, []int{one.transaction, other.transaction},
					fmt.Sprintf("T%d read %s of others as %v, T%d as %v, and neither is the beginning of the other",
						one.transaction, key, one.values, other.transaction, other.values))
				break
			}
		}
		last := map[int]int{}
		for i, value := range v.order {
			v.place[value] = i
			w, ok := c.writers[key][value]
			if !ok || w.undone {
				continue
			}
			if place, again := last[w.transaction]; again && place > w.place && !v.unknown {
				v.unknown = true
				c.report(IncompatibleOrder, []int{w.transaction},
					fmt.Sprintf("T%d appended %d to %s before others that are there before it: %v",
						w.transaction, value, key, v.order))
			}
			last[w.transaction] = w.place
		}
	}
}

// lostAppends looks for values that were acknowledged and that no later read has shown.
func (c *checker) lostAppends() {
	if !c.options.RealTime {
		return
	}
	for _, key := range c.keys {
		v := c.versions[key]
		for _, value := range v.appended {
			w := c.writers[key][value]
			t := &c.history[w.transaction]
			if w.undone || t.Outcome != Committed || v.observed[value] {
				continue
			}
			for _, r := range v.readings {
				reader := c.readings[r].transaction
				if reader != w.transaction && c.asked(c.readings[r]) > t.End {
					v.lost[value] = true
					c.report(LostAppend, []int{w.transaction, reader},
						fmt.Sprintf("T%d appended %d to %s and had committed at %d", w.transaction, value, key, t.End),
						fmt.Sprintf("T%d read %s at %d and later without it, and so did all others",
							reader, key, c.asked(c.readings[r])))
					break
				}
			}
		}
	}
}

// asked is when the snapshot of a read may have been taken at the earliest.
func (c *checker) asked(r reading) Moment {
	t := &c.history[r.transaction]
	if t.Level == ReadCommitted {
		return t.Statements[r.statement].Begin
	}
	return t.Statements[0].Begin
}

// lostUpdates looks for two transactions with snapshots that append behind one version of a list: one of them cannot
// have known the other.
func (c *checker) lostUpdates() {
	for _, key := range c.keys {
		v := c.versions[key]
		if v.set {
			continue
		}
		byVersion := map[string]int{}
		for _, r := range v.readings {
			one := c.readings[r]
			number := one.transaction
			if v.counts[number] == 0 || c.history[number].Level == ReadCommitted || !c.effective(number) {
				continue
			}
			version := fmt.Sprint(one.values)
			other, ok := byVersion[version]
			if ok && other != number {
				c.report(LostUpdate, []int{other, number},
					fmt.Sprintf("T%d and T%d both read %s as %v, appended to it and have committed",
						other, number, key, one.values))
			}
			byVersion[version] = number
		}
	}
}
