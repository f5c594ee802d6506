package normal

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Private is a batch with array structures of its own over the same buffers. Scan.Open may give the same arrays to
// several scans, and exporting an array writes to it: arrow-go counts the NULLs when it is first asked. The caller
// releases it.
func Private(batch arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, batch.NumCols())
	for i := range columns {
		data := privateData(batch.Column(i).Data())
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows())
}

func privateData(d arrow.ArrayData) arrow.ArrayData {
	if dictionary := d.Dictionary(); dictionary != nil && d.DataType().ID() == arrow.DICTIONARY {
		values := privateData(dictionary)
		defer values.Release()
		return array.NewDataWithDictionary(d.DataType(), d.Len(), d.Buffers(), d.NullN(), d.Offset(), values.(*array.Data))
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = privateData(c)
		defer children[i].Release()
	}
	return array.NewData(d.DataType(), d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}
