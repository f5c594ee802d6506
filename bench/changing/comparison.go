package changing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Singly is how many rows are changed, and deleted, by statements of their own.
const Singly = 300

// block is how many of them a side gets in a row.
const block = 20

// Points is how many rows are asked for by their keys.
const Points = 2_000

// Comparison has sides do the same with a table, in turn. The first two are compared; others only copy.
type Comparison struct {
	Sides   []*Side
	Table   *Table
	File    string // of rows
	Rows    int64
	Runs    int
	Say     func(format string, args ...any)
	Corrupt bool // the first side gets a wrong row; for tests
}

// Copies makes the table, copies the file into it, at each side in turn, and gives the times of each; what is there
// then must be equal. The first run is not timed.
func (c *Comparison) Copies(ctx context.Context) (times [][]time.Duration, err error) {
	for _, s := range c.Sides {
		if err := s.Take(ctx, c.Table); err != nil {
			return nil, err
		}
	}
	times = make([][]time.Duration, len(c.Sides))
	for run := range c.Runs + 1 {
		c.Say("%s: COPY, run %d of %d", c.Table.Name, run, c.Runs)
		for k := range c.Sides {
			i := (k + run) % len(c.Sides) // which side goes first changes
			took, err := c.Sides[i].Copy(ctx, c.File, c.Rows)
			if err != nil {
				return nil, err
			}
			if run > 0 {
				times[i] = append(times[i], took)
			}
		}
		if run == 0 && c.Corrupt {
			err = c.Sides[0].corrupt(ctx)
		}
		if err = errors.Join(err, c.same(ctx, c.Sides)); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// same is an error unless the tables of sides have the same sum.
func (c *Comparison) same(ctx context.Context, sides []*Side) error {
	var first string
	for i, s := range sides {
		sum, err := s.Sum(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			first = sum
		} else if sum != first {
			return fmt.Errorf("a wrong answer: %s has rows of %s, %s of %s", sides[0].Name, first, s.Name, sum)
		}
	}
	return nil
}

// Keyed gives the tables of the first two sides their keys. Changes and Asked come after it.
func (c *Comparison) Keyed(ctx context.Context) error {
	for _, s := range c.Sides[:2] {
		c.Say("%s: the key of %s", s.Name, c.Table.Name)
		if err := s.Keyed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// key is that of the n-th row which is asked for, or changed.
func (c *Comparison) key(n int64) int64 {
	step := int64(7919)
	if c.Rows%step == 0 { // all would be one
		step = 7907
	}
	return (n*step + 1) % c.Rows
}

// Asked are the times of the first two sides: of SELECT 1, and of a row by its key.
type Asked struct{ One, Point [2][]time.Duration }

// Asked asks the first two sides for rows by their keys, and for 1 in between; rows must be equal. The first block of
// either is not timed. If the table has no such question, it gives nil.
func (c *Comparison) Asked(ctx context.Context) (*Asked, error) {
	if c.Table.point == "" {
		return nil, nil
	}
	c.Say("%s: a row by its key", c.Table.Name)
	a := &Asked{}
	for first := int64(-block); first < Points; first += block {
		var rows [2][]row
		for k := range rows {
			i := (k + int(first/block) + 1) % 2 // which side goes first changes
			for n := first; n < first+block; n++ {
				one, err := c.Sides[i].One(ctx)
				if err != nil {
					return nil, err
				}
				r, point, err := c.Sides[i].Point(ctx, c.key(n+block))
				if err != nil {
					return nil, err
				}
				if rows[i] = append(rows[i], r); first >= 0 {
					a.One[i], a.Point[i] = append(a.One[i], one), append(a.Point[i], point)
				}
			}
		}
		if !slices.Equal(rows[0], rows[1]) {
			return nil, fmt.Errorf("a wrong answer: %s gives %v by their keys, %s %v",
				c.Sides[0].Name, rows[0], c.Sides[1].Name, rows[1])
		}
	}
	return a, nil
}

// Report is called with how long the statements of a kind took, of a single row each or of many.
type Report func(what string, single bool, ours, theirs []time.Duration)

// Changes changes rows of the first two sides, and reports how long that took. What is there then must be equal.
func (c *Comparison) Changes(ctx context.Context, report Report) error {
	sides := c.Sides[:2]
	for _, step := range []struct {
		what   string
		single bool
		do     func(s *Side, n int64) (time.Duration, error)
	}{
		{"UPDATE of a row by its key", true, func(s *Side, n int64) (time.Duration, error) {
			return s.Update(ctx, c.key(n))
		}},
		{"UPDATE of 1 %", false, func(s *Side, n int64) (time.Duration, error) {
			return s.UpdateSome(ctx, n%100, (c.Rows-n%100+99)/100)
		}},
		{"DELETE of a row by its key", true, func(s *Side, n int64) (time.Duration, error) {
			return s.Delete(ctx, c.key(n))
		}},
	} {
		c.Say("%s: %s", c.Table.Name, step.what)
		in, most := 1, c.Runs
		if step.single {
			in, most = block, int(min(Singly, c.Rows))
		}
		var times [2][]time.Duration
		for first := 0; first < most; first += in {
			for k := range sides {
				i := (k + first/in) % 2
				for n := first; n < min(first+in, most); n++ {
					took, err := step.do(sides[i], int64(n))
					if err != nil {
						return err
					}
					times[i] = append(times[i], took)
				}
			}
		}
		if err := c.same(ctx, sides); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		report(step.what, step.single, times[0], times[1])
	}
	return nil
}
