package compression

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// CP1.
func TestExpandIsTheInverse(t *testing.T) {
	random := make([]byte, 5000)
	_, err := rand.Read(random)
	require.NoError(t, err)
	random[0] = 8 // as a record begins
	alike := bytes.Repeat([]byte("\x08\x0amin and max of a column"), 5000)
	for _, data := range [][]byte{nil, {8}, random, alike} {
		made := Compress(data)
		require.LessOrEqual(t, len(made), len(data))
		again, err := Expand(made)
		require.NoError(t, err)
		require.Equal(t, data, again)
	}
	require.Less(t, len(Compress(alike)), len(alike)/50)
	again, err := Expand(alike)
	require.NoError(t, err)
	require.Equal(t, alike, again, "what was stored before there was compression")
}

// CP2.
func TestExpandIsBounded(t *testing.T) {
	large, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	_, err = Expand(large.EncodeAll(make([]byte, Most+1), nil))
	require.ErrorIs(t, err, zstd.ErrDecoderSizeExceeded)
	_, err = Expand(append(bytes.Clone(magic), "and no frame"...))
	require.Error(t, err)
}
