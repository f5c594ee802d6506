package order

import (
	"bytes"
	"cmp"
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/reader"
)

// MostProbes is how many rows are looked for one by one: of more, all rows that there are are looked at.
const MostProbes = 4096

// Probes are keys of rows that are looked for in the orders of chunks.
type Probes struct {
	list  [][]probed
	fixed []bool // by column: cells have codes
	bytes int
	full  bool
}

// probed is a cell that is kept.
type probed struct {
	null bool
	code uint64
	text []byte
}

// probeBytes bounds the texts that probes keep.
const probeBytes = 4 << 20

// Adder takes the keys of rows of some columns. With more rows than MostProbes, or columns that cannot be compared, the
// probes are of no use.
func (p *Probes) Adder(arrays []arrow.Array) func(row int) {
	c := columnsOf(arrays)
	if c == nil || p.fixed != nil && !p.fits(c) {
		*p = Probes{full: true}
	}
	if p.fixed == nil && c != nil {
		p.fixed = make([]bool, len(c))
		for k := range c {
			p.fixed[k] = c[k].code != nil
		}
	}
	return func(row int) {
		switch {
		case p.full:
		case len(p.list) >= MostProbes || p.bytes > probeBytes:
			*p = Probes{full: true}
		default:
			p.list = append(p.list, p.keyOf(c, row))
		}
	}
}

func (p *Probes) keyOf(c columns, row int) []probed {
	key := make([]probed, len(c))
	for k := range c {
		cell := &c[k]
		switch {
		case cell.null(row):
			key[k].null = true
		case cell.code != nil:
			key[k].code = cell.code(row)
		default:
			key[k].text = bytes.Clone(cell.text(row))
			p.bytes += len(key[k].text)
		}
	}
	return key
}

// Useful reports whether there are probes of all rows that were added.
func (p *Probes) Useful() bool { return p != nil && !p.full }

func (p *Probes) fits(c columns) bool {
	for k := range c {
		if p.fixed[k] != (c[k].code != nil) {
			return false
		}
	}
	return len(c) == len(p.fixed)
}

// Find calls hit for the rows of a version's chunk, deleted ones too, that have a probe's key in these columns, until
// it says that no more are wanted. Not found: the chunk has no order by them. What it finds is by's to confirm.
func (f *Finder) Find(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, p catalog.Position,
	columns []int, probes *Probes, hit func(columns []arrow.Array, row int) (more bool)) (found bool, err error) {
	if !probes.Useful() {
		return false, nil
	}
	err = f.sorted(ctx, by, v, p.Index, p.Chunk, columns, func(s *sorted) error {
		if found = len(probes.list) == 0 || probes.fits(s.columns); !found {
			return nil
		}
		for _, one := range probes.list {
			at := s.first(span{0, s.rows}, func(row int) bool { return s.columns.probe(row, one) >= 0 })
			for ; at < s.rows && s.columns.probe(s.row(at), one) == 0; at++ {
				if !hit(s.arrays, s.row(at)) {
					return nil
				}
			}
		}
		return nil
	})
	return found && err == nil, err
}

// probe orders a row and a key.
func (c columns) probe(row int, key []probed) int {
	for k := range c {
		if order := c[k].probe(row, &key[k]); order != 0 {
			return order
		}
	}
	return 0
}

func (c *cells) probe(row int, to *probed) int {
	switch is := c.null(row); {
	case is && to.null:
		return 0
	case is:
		return 1
	case to.null:
		return -1
	}
	if c.code != nil {
		return cmp.Compare(c.code(row), to.code)
	}
	return bytes.Compare(c.text(row), to.text)
}
