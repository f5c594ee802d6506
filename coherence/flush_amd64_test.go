package coherence

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOldFlushAgrees runs CLFLUSH, which processors without CLFLUSHOPT use, over the same edges.
func TestOldFlushAgrees(t *testing.T) {
	page := guarded(t)
	line := probed(t).LineSize()
	for from := range 2*line + 1 {
		for size := 1; size <= 3*line; size++ {
			require.Equal(t, naiveLines(from, from+size, line), flushOld(&page[from], size, line))
			tail := len(page) - from - size
			require.Equal(t, naiveLines(tail, tail+size, line), flushOld(&page[tail], size, line))
		}
	}
	require.Zero(t, flushOld(&page[5], 0, line))
	require.Zero(t, flushOpt(&page[5], 0, line))
}

// processor is a CPUID that answers as an older one does.
func processor(highest, ebx1, edx1, ebx7 uint32) func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) {
	return func(leaf, _ uint32) (eax, ebx, ecx, edx uint32) {
		switch leaf {
		case 0:
			return highest, 0, 0, 0
		case 1:
			return 0, ebx1, 0, edx1
		case 7:
			if highest < 7 {
				return 0, 0xffffffff, 0, 0 // Intel answers with the data of the highest leaf there is
			}
			return 0, ebx7, 0, 0
		}
		return 0, 0, 0, 0
	}
}

// TestProbeFallsBack forces every outcome of the probe.
func TestProbeFallsBack(t *testing.T) {
	const line64, clflush, clflushopt = 8 << 8, 1 << 19, 1 << 23
	for name, c := range map[string]struct {
		cpuid       func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
		instruction string
	}{
		"of today":              {processor(0x1f, line64, clflush, clflushopt), "CLFLUSHOPT"},
		"without CLFLUSHOPT":    {processor(0x16, line64, clflush, ^uint32(clflushopt)), "CLFLUSH"},
		"too old for leaf 7":    {processor(5, line64, clflush, 0), "CLFLUSH"},
		"without any flush":     {processor(0x1f, line64, ^uint32(clflush), clflushopt), ""},
		"with lines of no size": {processor(0x1f, 0, clflush, clflushopt), ""},
		"with lines of 3 × 8":   {processor(0x1f, 3<<8, clflush, clflushopt), ""},
	} {
		lines, err := newCPULines(choose(c.cpuid))
		if c.instruction == "" {
			require.ErrorIs(t, err, ErrUnsupported, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, Features{LineSize: 64, Instruction: c.instruction}, lines.Features(), name)
		want := map[string]any{"CLFLUSHOPT": flushOpt, "CLFLUSH": flushOld}[c.instruction]
		require.Equal(t, reflect.ValueOf(want).Pointer(), reflect.ValueOf(lines.flush).Pointer(), name)
		require.Equal(t, 3, lines.Flush(make([]byte, 4096)[64:64+192]), name)
		lines.FenceFull()
	}
}

// TestProbeOfCopiesFallsBack: a processor without CLFLUSHOPT flushes after it has streamed, one without CLWB writes nothing through.
func TestProbeOfCopiesFallsBack(t *testing.T) {
	const clflushopt, clwb = 1 << 23, 1 << 24
	for name, c := range map[string]struct {
		cpuid           func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
		behind, through bool
	}{
		"of today":           {processor(0x1f, 0, 0, clflushopt|clwb), true, true},
		"without CLWB":       {processor(0x1f, 0, 0, clflushopt), true, false},
		"without CLFLUSHOPT": {processor(0x16, 0, 0, clwb), false, true},
		"too old for leaf 7": {processor(5, 0, 0, clflushopt|clwb), false, false},
	} {
		unit, stream, through, behind := chooseCopies(c.cpuid)
		require.Equal(t, 64, unit, name)
		require.NotNil(t, stream, name)
		require.Equal(t, c.behind, behind != nil, name)
		require.Equal(t, c.through, through != nil, name)
	}
}
