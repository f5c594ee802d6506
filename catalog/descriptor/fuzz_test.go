package descriptor_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/memregion"
)

// FuzzDecode: whatever arrives, Decode yields a valid descriptor or an error of its own; a valid one can be written,
// printed and rebuilt over memory that holds nothing of it, without a panic and without a read outside the extents.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 10))
		m := region()
		types := []arrow.DataType{arraytest.Type(rng, 2), arraytest.Type(rng, 1)}
		d, _ := roundTrip(f, m, arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, rng.IntN(20)))
		if seed%3 == 1 {
			replicate(d, 1+int(seed)%4)
		}
		encoded, err := d.Encode()
		require.NoError(f, err)
		f.Add(encoded)
	}
	nothing := make([]byte, 1<<22)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := new(descriptor.Decoder).Decode(data)
		amongOthers(t, data, d, err)
		_, _ = descriptor.Peek(data)
		if err != nil {
			if !errors.Is(err, descriptor.ErrCorrupt) && !errors.Is(err, descriptor.ErrFormat) {
				t.Fatalf("an error of no class: %v", err)
			}
			return
		}
		encoded, err := d.Encode()
		require.NoError(t, err)
		again, err := descriptor.Decode(encoded)
		require.NoError(t, err)
		twice, err := again.Encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(encoded, twice))
		_ = d.String()
		batch, err := d.Record(func(_ memregion.RegionID, r memregion.Range) ([]byte, error) {
			if r.Length > int64(len(nothing)) {
				return nil, errors.New("too large for this test")
			}
			return nothing[:r.Length], nil // of all extents: a thousand of their own would take gigabytes
		})
		if err == nil && d.Rows < 1<<16 {
			_ = descriptor.ValidateData(batch, true)
		}
	})
}

// Every single byte of a descriptor that is changed, lost or doubled is refused or harmless; never a panic.
func TestEveryFieldCorrupted(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 11))
		m := region()
		d, _ := roundTrip(t, m, arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{arraytest.Type(rng, 2)}, 10))
		replicate(d, int(seed%3))
		encoded, err := d.Encode()
		require.NoError(t, err)
		for at := range encoded {
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, encoded[at] ^ 1, encoded[at] + 1} {
				altered := bytes.Clone(encoded)
				altered[at] = v
				try(t, altered, m)
			}
			try(t, append(bytes.Clone(encoded[:at]), encoded[at+1:]...), m)
			try(t, encoded[:at], m)
		}
	}
}

func try(t *testing.T, encoded []byte, m descriptor.Mapped) {
	d, err := descriptor.Decode(encoded)
	if err != nil {
		require.True(t, errors.Is(err, descriptor.ErrCorrupt) || errors.Is(err, descriptor.ErrFormat), "%v", err)
		return
	}
	batch, err := d.Record(resolver(m))
	if err == nil {
		_ = descriptor.ValidateData(batch, false)
	}
}
