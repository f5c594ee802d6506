package descriptor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/memregion"
)

const extentBytes = 4 << 20

// region is one extent with its bytes, as a mapped chunk has it.
func region() descriptor.Mapped {
	memory := lendertest.NewMemory(extentBytes)
	x := descriptor.Extent{ExtentID: descriptor.ExtentID{Region: 7, Generation: 42}, Range: memregion.Range{Offset: 1 << 20, Length: extentBytes}}
	x.Seal = descriptor.Seal{Length: extentBytes, Checksum: 0x1122334455667788}
	return descriptor.Mapped{Extent: x, Data: memory.Bytes(memregion.Range{Length: extentBytes})}
}

func resolver(m descriptor.Mapped) descriptor.Resolve {
	return func(id memregion.RegionID, r memregion.Range) ([]byte, error) {
		if id != m.Region || r != m.Range {
			return nil, fmt.Errorf("asked for %v of region %d", r, id)
		}
		return m.Data, nil
	}
}

// roundTrip describes, encodes, decodes and rebuilds a batch that lies in m.
func roundTrip(t require.TestingT, m descriptor.Mapped, batch arrow.RecordBatch) (*descriptor.Descriptor, arrow.RecordBatch) {
	d, err := descriptor.Describe(batch, "public.t", []descriptor.Mapped{m}, nil)
	require.NoError(t, err)
	encoded, err := d.Encode()
	require.NoError(t, err)
	back, err := descriptor.Decode(encoded)
	require.NoError(t, err)
	again, err := back.Encode()
	require.NoError(t, err)
	require.Equal(t, encoded, again, "a descriptor has one encoding")
	rebuilt, err := back.Record(resolver(m))
	require.NoError(t, err)
	return back, rebuilt
}

// requireSame compares schemas and values. Extension types without a registration come back as foreign ones.
func requireSame(t require.TestingT, want, got arrow.RecordBatch) {
	require.Equal(t, want.NumRows(), got.NumRows())
	require.True(t, want.Schema().Equal(got.Schema()), "%v\n%v", want.Schema(), got.Schema())
	for i := range int(want.NumCols()) {
		require.True(t, array.Equal(want.Column(i), got.Column(i)), "column %v\n%v\n%v", want.Schema().Field(i), want.Column(i), got.Column(i))
	}
}

func TestRoundTripOfEveryType(t *testing.T) {
	for _, dt := range append(arraytest.Flat(), arraytest.Nested()...) {
		t.Run(dt.String(), func(t *testing.T) {
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, 1))
				m := region()
				batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{dt}, rng.IntN(200))
				require.NoError(t, descriptor.ValidateData(batch, true))
				_, rebuilt := roundTrip(t, m, batch)
				requireSame(t, batch, rebuilt)
				require.NoError(t, descriptor.ValidateData(rebuilt, true))
			}
		})
	}
}

func TestRoundTripOfRandomNesting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		types := make([]arrow.DataType, 1+rng.IntN(4))
		for i := range types {
			types[i] = arraytest.Type(rng, 3)
		}
		m := region()
		batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, rng.IntN(40))
		d, rebuilt := roundTrip(rt, m, batch)
		requireSame(rt, batch, rebuilt)
		require.NoError(rt, d.Verify(resolver(m), nil))
	})
}

func TestProjectKeepsOrderAndRefusesStrangers(t *testing.T) {
	m := region()
	rng := rand.New(rand.NewPCG(1, 3))
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64}
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, 50)
	d, _ := roundTrip(t, m, batch)
	some, err := d.Project(resolver(m), []int{2, 0})
	require.NoError(t, err)
	require.True(t, array.Equal(batch.Column(2), some.Column(0)))
	require.True(t, array.Equal(batch.Column(0), some.Column(1)))
	_, err = d.Project(resolver(m), []int{3})
	require.ErrorContains(t, err, "column 3")
}

func TestVerifyNamesTheColumn(t *testing.T) {
	m := region()
	rng := rand.New(rand.NewPCG(1, 4))
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32}, 50)
	d, _ := roundTrip(t, m, batch)
	b := d.Columns[1].Buffers[1]
	m.Data[b.Offset+b.Length-1] ^= 1
	err := d.Verify(resolver(m), nil)
	require.ErrorIs(t, err, descriptor.ErrChecksum)
	require.ErrorContains(t, err, `column "b"`)
	require.NoError(t, d.Verify(resolver(m), []int{0}))
}

func TestDescribeRefusesForeignBuffers(t *testing.T) {
	m := region()
	rng := rand.New(rand.NewPCG(1, 5))
	elsewhere := region()
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: elsewhere.Data}, []arrow.DataType{arrow.PrimitiveTypes.Int64}, 50)
	_, err := descriptor.Describe(batch, "t", []descriptor.Mapped{m}, nil)
	require.ErrorIs(t, err, descriptor.ErrOutside)
}

// A resolver that returns fewer bytes than were sealed, as a truncated region file does, is an error and not a crash.
func TestRecordOverTruncatedRegion(t *testing.T) {
	m := region()
	rng := rand.New(rand.NewPCG(1, 6))
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{arrow.PrimitiveTypes.Int64}, 50)
	d, _ := roundTrip(t, m, batch)
	m.Data = m.Data[:100]
	_, err := d.Record(resolver(m))
	require.ErrorIs(t, err, descriptor.ErrData)
}

// D5: whatever the region holds instead of the chunk, rebuilding and validating end in a batch or an error, never a panic.
func TestGarbageInTheRegion(t *testing.T) {
	types := append(arraytest.Flat(), arraytest.Nested()...)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		dt := types[seed%uint64(len(types))]
		m := region()
		batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{dt}, 1+rng.IntN(60))
		d, _ := roundTrip(t, m, batch)
		for range 1 + rng.IntN(40) {
			m.Data[rng.IntN(4096)] = byte(rng.Uint32())
		}
		rebuilt, err := d.Record(resolver(m))
		if err == nil {
			err = descriptor.ValidateData(rebuilt, false)
		}
		if err != nil {
			require.ErrorIs(t, err, descriptor.ErrData, "%v", dt)
			var state interface{ SQLState() string }
			require.True(t, errors.As(err, &state))
			require.Equal(t, "XX001", state.SQLState())
		}
	}
}

// A dictionary that was overwritten, also one inside of a list, is an error when the chunk is rebuilt, and not a panic
// of its first reader.
func TestGarbageInADictionary(t *testing.T) {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	for _, dt := range []arrow.DataType{words, arrow.FixedSizeListOf(2, words)} {
		m := region()
		batch := arraytest.Batch(rand.New(rand.NewPCG(1, 8)), &arraytest.Bump{Data: m.Data}, []arrow.DataType{dt}, 50)
		d, _ := roundTrip(t, m, batch)
		for i := range m.Data {
			m.Data[i] = 0x55
		}
		_, err := d.Record(resolver(m))
		require.ErrorIs(t, err, descriptor.ErrData, "%v", dt)
	}
}

// What columns take is what they hold, without padding: fixed widths, bits, strings with their dictionary.
func TestColumnBytes(t *testing.T) {
	m := region()
	mem := &arraytest.Bump{Data: m.Data}
	numbers := array.NewInt64Builder(mem)
	numbers.AppendValues([]int64{1, 2, 3}, nil)
	flags := array.NewBooleanBuilder(mem)
	flags.AppendValues([]bool{true, false, true}, []bool{true, false, true})
	list := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int32)
	for range 3 {
		list.Append(true)
		list.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{7, 8}, nil)
	}
	columns := []arrow.Array{numbers.NewArray(), flags.NewArray(), list.NewArray()}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: columns[0].DataType(), Nullable: true}, {Name: "f", Type: columns[1].DataType(), Nullable: true}, {Name: "l", Type: columns[2].DataType(), Nullable: true}}, nil)
	d, _ := roundTrip(t, m, array.NewRecordBatch(schema, columns, 3))
	require.Equal(t, int64(24), d.ColumnBytes([]int{0}))
	bits := d.ColumnBytes([]int{1})
	require.True(t, 2 <= bits && bits < 16, "%d bytes of values and of what is NULL", bits)
	require.GreaterOrEqual(t, d.ColumnBytes([]int{2}), int64(4*4+6*4))
	require.Equal(t, d.ColumnBytes([]int{2})+24+bits, d.ColumnBytes([]int{0, 1, 2}))
	require.Zero(t, d.ColumnBytes(nil))
}
