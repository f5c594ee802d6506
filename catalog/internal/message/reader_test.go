package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// field is what a walk over a message finds: a number and a type's value.
type field struct {
	number int
	varint uint64
	fixed  uint64
	bytes  string
}

// walk reads every field by its type. The twin does it with protobuf's own package.
func walk(data []byte) (fields []field, ok bool) {
	r := message.NewReader(data)
	for _, kind := range kinds(data) {
		if !r.Next() {
			break
		}
		f := field{number: r.Field()}
		switch kind {
		case protowire.VarintType:
			f.varint = r.Uint()
		case protowire.Fixed64Type:
			f.fixed = r.Fixed()
		case protowire.BytesType:
			f.bytes = r.String()
		default:
			r.Skip()
		}
		if r.Err() == nil {
			fields = append(fields, f)
		}
	}
	return fields, !r.Next() && r.Err() == nil
}

// kinds are the wire types of a message's fields up to the first that is wrong, and one more for that.
func kinds(data []byte) (list []protowire.Type) {
	for len(data) > 0 {
		_, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return append(list, 0)
		}
		list = append(list, kind)
		m := protowire.ConsumeFieldValue(1, kind, data[n:])
		if m < 0 {
			return list
		}
		data = data[n+m:]
	}
	return list
}

func twin(data []byte) (fields []field, ok bool) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || number > protowire.MaxValidNumber {
			return fields, false
		}
		f := field{number: int(number)}
		data = data[n:]
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			f.fixed, n = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			var b []byte
			b, n = protowire.ConsumeBytes(data)
			f.bytes = string(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return fields, false
		}
		data = data[n:]
		fields = append(fields, f)
	}
	return fields, true
}

// W1: whatever the bytes are, a Reader finds what protobuf's own functions find, and stops where they do.
func TestReaderAgreesWithProtowire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			number := protowire.Number(rapid.SampledFrom([]int{1, 2, 15, 16, 17, 1 << 20}).Draw(t, "number"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				data = protowire.AppendTag(data, number, protowire.VarintType)
				data = protowire.AppendVarint(data, rapid.Uint64().Draw(t, "varint")>>rapid.IntRange(0, 63).Draw(t, "shift"))
			case 1:
				data = protowire.AppendFixed64(protowire.AppendTag(data, number, protowire.Fixed64Type), rapid.Uint64().Draw(t, "fixed"))
			case 2:
				data = protowire.AppendBytes(protowire.AppendTag(data, number, protowire.BytesType), rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes"))
			case 3:
				data = protowire.AppendFixed32(protowire.AppendTag(data, number, protowire.Fixed32Type), 7)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "damage") {
			if len(data) > 0 {
				data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "by")
			}
		}
		data = data[:len(data)-rapid.IntRange(0, min(3, len(data))).Draw(t, "lost")]
		want, whole := twin(data)
		got, ok := walk(data)
		require.Equal(t, whole, ok)
		require.Equal(t, want, got)
	})
}

// After a fault every read yields zero, and the first fault stays.
func TestFaultsStick(t *testing.T) {
	r := message.NewReader([]byte{1 << 3, 5, 2<<3 | 2, 9, 'x', 3 << 3, 7})
	require.True(t, r.Next())
	require.EqualValues(t, 5, r.Uint())
	require.True(t, r.Next())
	require.Nil(t, r.Bytes())
	first := r.Err()
	require.ErrorIs(t, first, message.ErrMalformed)
	require.False(t, r.Next())
	require.Zero(t, r.Uint())
	require.Zero(t, r.Fixed())
	require.Zero(t, r.Count(3, 10))
	r.Skip()
	require.Equal(t, first, r.Err())
}

// W2: what a newer writer adds is passed over, whatever kind it is of, and what a reader knows is found before and behind it.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	var w message.Writer
	w.Uint(1, 5)
	w.Uint(1000, 7)
	w.Fixed(1001, 7)
	w.Bytes(1002, []byte{1 << 3, 9})
	w.Buf = protowire.AppendFixed32(protowire.AppendTag(w.Buf, 1003, protowire.Fixed32Type), 7)
	w.Uint(1, 6)
	r := message.NewReader(w.Buf)
	var known []uint64
	for r.Next() {
		if r.Field() == 1 {
			known = append(known, r.Uint())
			continue
		}
		r.Skip()
	}
	require.NoError(t, r.Err())
	require.Equal(t, []uint64{5, 6}, known)
}
