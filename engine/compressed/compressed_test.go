package compressed_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/compressed"
)

func gz(t *testing.T, text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Flush()) // so that the text can be had whole without the file's end
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zst(t *testing.T, text string) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll([]byte(text), nil)
}

// Z1: cut off anywhere, or with a bit turned in what is checked, a file is not whole.
func TestWhole(t *testing.T) {
	const text = "a,b\n1,x\n2,y\n"
	for name, whole := range map[string][]byte{"t.csv.gz": gz(t, text), "T.CSV.ZST": zst(t, text)} {
		require.True(t, compressed.Named(name))
		require.NoError(t, compressed.Check(t.Context(), name, bytes.NewReader(whole)), name)
		require.NoError(t, compressed.Check(t.Context(), name, bytes.NewReader(append(bytes.Clone(whole), whole...))), "two of them: %s", name)
		for n := 1; n < len(whole); n++ {
			require.ErrorIs(t, compressed.Check(t.Context(), name, bytes.NewReader(whole[:n])), compressed.ErrDamaged, "%s, cut off at %d", name, n)
		}
		require.ErrorIs(t, compressed.Check(t.Context(), name, bytes.NewReader(append(bytes.Clone(whole), 'x'))), compressed.ErrDamaged, name)
		damaged := bytes.Clone(whole)
		damaged[len(damaged)-1] ^= 1
		require.ErrorIs(t, compressed.Check(t.Context(), name, bytes.NewReader(damaged)), compressed.ErrDamaged, name)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, whole := range map[string][]byte{"t.gz": gz(t, text), "t.zst": zst(t, text)} {
		err := compressed.Check(ended, name, bytes.NewReader(whole))
		require.ErrorIs(t, err, context.Canceled, name)
		require.NotErrorIs(t, err, compressed.ErrDamaged, name)
	}
	require.ErrorIs(t, compressed.Check(t.Context(), "t.gz", bytes.NewReader(nil)), compressed.ErrDamaged)
	require.ErrorIs(t, compressed.Check(t.Context(), "t.gz", bytes.NewReader([]byte("a,b\n"))), compressed.ErrDamaged)
	require.False(t, compressed.Named("t.gz.csv"))
	require.NoError(t, compressed.Check(t.Context(), "t.csv", bytes.NewReader([]byte("a,b\n"))))
}
