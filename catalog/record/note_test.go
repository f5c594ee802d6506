package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotes(t *testing.T) {
	for _, n := range []Note{{Rows: []byte{1, 2}}, {Boot: "b", Rows: []byte{0}}} {
		got, err := DecodeNote(n.Encode())
		require.NoError(t, err)
		require.Equal(t, n, *got)
	}
	for _, bad := range [][]byte{{}, {8, 1}, {8, 13, 1}, (&Note{}).Encode()[1:]} {
		_, err := DecodeNote(bad)
		require.Error(t, err, bad)
	}
}

func FuzzDecodeNote(f *testing.F) {
	f.Add((&Note{Boot: "boot", Rows: []byte{1, 0}}).Encode())
	f.Add([]byte{8, 12})
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := DecodeNote(data)
		if err != nil {
			return
		}
		again, err := DecodeNote(n.Encode())
		require.NoError(t, err)
		require.Equal(t, n.Boot, again.Boot)
		require.Equal(t, string(n.Rows), string(again.Rows))
	})
}
