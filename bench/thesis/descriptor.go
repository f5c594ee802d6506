package thesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Described is Table 5.3: of a table with columns of int64, int8 and uint16.
type Described struct {
	// Serialize encodes. Deserialize decodes, validates and makes the schema. Known is Deserialize in a process that
	// has the schema, as for every chunk of a table but the first. Each time is the mean of callsAtOnce calls.
	Serialize, Deserialize, Known []time.Duration
	Bytes                         int // of the encoded descriptor
}

const (
	callsAtOnce   = 200
	describedRows = 10_000
)

// Descriptor does Table 5.3.
func (w *World) Descriptor(ctx context.Context) (d Described, err error) {
	home := w.local.homes[homeOf(coherence.Coherent)]
	space := chunk.Home{Home: home}
	writer := chunk.NewWriter(space, "bench", 1<<20)
	c, err := writer.Seal(ctx, threeColumns(writer), chunk.SealOptions{})
	if err != nil {
		return d, errors.Join(err, writer.Abort())
	}
	defer func() {
		for _, x := range c.Extents() {
			err = errors.Join(err, home.Discard(x.Generation))
		}
	}()
	encoded, err := c.Descriptor().Encode()
	if err != nil {
		return d, err
	}
	if err := w.checkDescriptor(encoded); err != nil {
		return d, err
	}
	d.Bytes = len(encoded)
	buffer := make([]byte, 0, 2*len(encoded))
	for range 20 * w.setting.Runs {
		took, err := each(func() error { _, err := c.Descriptor().AppendTo(buffer); return err })
		if err != nil {
			return d, err
		}
		d.Serialize = append(d.Serialize, took)
		if took, err = each(func() error { _, err := new(descriptor.Decoder).Decode(encoded); return err }); err != nil {
			return d, err
		}
		d.Deserialize = append(d.Deserialize, took)
		if took, err = each(func() error { _, err := descriptor.Decode(encoded); return err }); err != nil {
			return d, err
		}
		d.Known = append(d.Known, took)
	}
	return d, nil
}

// each is how long one call takes.
func each(call func() error) (took time.Duration, err error) {
	begin := time.Now()
	for range callsAtOnce {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / callsAtOnce, nil
}

// threeColumns holds i in each of its columns, as wide as they are.
func threeColumns(writer *chunk.Writer) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int8}, {Name: "c", Type: arrow.PrimitiveTypes.Uint16},
	}, nil)
	b := array.NewRecordBuilder(writer.Allocator(), schema)
	defer b.Release()
	b.Reserve(describedRows)
	for i := range describedRows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int8Builder).Append(int8(i))
		b.Field(2).(*array.Uint16Builder).Append(uint16(i))
	}
	return b.NewRecordBatch()
}

// checkDescriptor checks that a decoded descriptor equals the encoded one, and that the batch that it gives in place
// has the values that were written (TH1).
func (w *World) checkDescriptor(encoded []byte) error {
	if w.setting.InjectFault {
		encoded = append(bytes.Clone(encoded[:len(encoded)-1]), encoded[len(encoded)-1]^1)
	}
	d, err := descriptor.Decode(encoded)
	if err != nil {
		return err
	}
	again, err := d.Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(encoded, again) {
		return errors.New("a descriptor that was decoded says something else")
	}
	batch, err := d.Record(func(_ memregion.RegionID, r memregion.Range) ([]byte, error) { return w.local.memory.Bytes(r), nil })
	if err != nil {
		return err
	}
	defer batch.Release()
	a, b, c := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int8), batch.Column(2).(*array.Uint16)
	for i := range describedRows {
		if a.Value(i) != int64(i) || b.Value(i) != int8(i) || c.Value(i) != uint16(i) {
			return fmt.Errorf("row %d, read by its descriptor, is %d, %d, %d", i, a.Value(i), b.Value(i), c.Value(i))
		}
	}
	return nil
}
