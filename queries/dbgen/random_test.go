package dbgen

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The official forms, written as the specification's program has them.
func officialNext(seed int64) int64 { return seed * 16807 % 2147483647 }

func officialUniform(seed, low, high int64) int64 {
	return low + int64(float64(seed)/2147483647.0*float64(high-low+1))
}

func TestStreamIsTheOfficialOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64Range(1, modulus-1).Draw(t, "seed")
		steps := rapid.IntRange(0, 300).Draw(t, "steps")
		want := seed
		walked := stream(seed)
		for range steps {
			want = officialNext(want)
			walked = walked.next()
		}
		require.Equal(t, want, int64(walked))
		require.Equal(t, want, int64(stream(seed).after(int64(steps))))
	})
}

// TestStreamAdvancesFar reaches distances that no test can walk: the stream's
// period is modulus-1, and advancing is additive (D2).
func TestStreamAdvancesFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stream(rapid.Int64Range(1, modulus-1).Draw(t, "seed"))
		a := rapid.Int64Range(0, 1<<40).Draw(t, "a")
		b := rapid.Int64Range(0, 1<<40).Draw(t, "b")
		require.Equal(t, s.after(a+b), s.after(a).after(b))
		require.Equal(t, s, s.after(modulus-1))
	})
}

// TestIntegerFormOfUniform attacks D3 at random and at the places where
// rounding would show first: seeds whose product is next to a multiple of the
// modulus.
func TestIntegerFormOfUniform(t *testing.T) {
	check := func(t require.TestingT, seed, span int64) {
		want := officialUniform(seed, 0, span-1)
		require.Equal(t, want, int64(uniform(uint64(seed), uint64(span))), "seed %d, span %d", seed, span)
		require.Equal(t, want, int64(uniformWide(uint64(seed), uint64(span))), "seed %d, span %d", seed, span)
	}
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, exactSpanMax).Draw(t, "span")
		check(t, rapid.Int64Range(1, modulus-1).Draw(t, "seed"), span)
		boundary := rapid.Int64Range(1, span).Draw(t, "boundary") * modulus / span
		for seed := max(1, boundary-2); seed <= min(modulus-1, boundary+2); seed++ {
			check(t, seed, span)
		}
	})
	for _, span := range []int64{1, 2, 7, 10000, exactSpanMax - 1, exactSpanMax} {
		for _, seed := range []int64{1, 2, modulus / 2, modulus - 2, modulus - 1} {
			check(t, seed, span)
		}
	}
}

// TestSpansThatNeedTheExactForm holds the preconditions of lineSet.draw.
func TestSpansThatNeedTheExactForm(t *testing.T) {
	for _, b := range []bounds{lineQuantity, lineDiscount, lineTax, lineSupplier, lineShipDate, lineCommitDate, lineReceiptDate, orderDate, partSuppCost} {
		require.LessOrEqual(t, b.span, uint64(exactSpanMax))
	}
}

func TestSumLineCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<33).Draw(t, "first")
		count := rapid.Int64Range(0, 50).Draw(t, "count")
		require.Equal(t, int64(newLineSet(first, count).rows), sumLineCounts(first, count))
	})
}

func TestDomainsAreSortedDictionaries(t *testing.T) {
	for _, d := range []*sharedDomain{
		regionNameDomain, nationNameDomain, marketSegmentDomain, manufacturerDomain, brandDomain, partTypeDomain,
		partContainerDomain, orderStatusDomain, orderPriorityDomain, returnFlagDomain, lineStatusDomain,
		shipInstructionDomain, shipModeDomain,
	} {
		require.LessOrEqual(t, len(d.sorted), 255)
		require.Equal(t, len(d.sorted), len(d.codes), "no duplicates (D4)")
		for i := 1; i < len(d.sorted); i++ {
			require.Less(t, d.sorted[i-1], d.sorted[i], "strictly ascending (D4)")
		}
	}
	require.Equal(t, "F", orderStatusDomain.sorted[orderFinished])
	require.Equal(t, "O", orderStatusDomain.sorted[orderOpen])
	require.Equal(t, "P", orderStatusDomain.sorted[orderPartly])
	require.Equal(t, "R", returnFlagDomain.sorted[flagReturned])
	require.Equal(t, "O", lineStatusDomain.sorted[lineOpen])
}

func TestAppendDigits(t *testing.T) {
	for _, c := range []struct {
		value int64
		width int
		want  string
	}{{1, 9, "000000001"}, {0, 2, "00"}, {123, 3, "123"}, {1234567890, 9, "1234567890"}, {1<<63 - 1, 1, "9223372036854775807"}} {
		require.Equal(t, "x"+c.want, string(appendDigits([]byte("x"), c.value, c.width)))
	}
}

func TestTextPoolIsSentences(t *testing.T) {
	text := textPool()
	require.Len(t, text, textPoolSize)
	for i, c := range text {
		if c == 0 {
			t.Fatalf("byte %d of the text was not written", i)
		}
	}
}

func BenchmarkSentence(b *testing.B) {
	grammar := newGrammar()
	target := make([]byte, sentenceSizeMax)
	s := textPoolSeed
	total := 0
	for b.Loop() {
		var length int
		length, s = grammar.sentence(target, s)
		total += length
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(total), "ns/byte")
}

// TestDrawNextToIntegers attacks D3 beyond its limit, where the two forms do
// differ: at seeds whose product with the span lies next to a multiple of the
// modulus, every way to draw must take the official side.
func TestDrawNextToIntegers(t *testing.T) {
	differences := 0
	previous := powerOfMultiplier(modulus - 2) // steps one back
	for _, span := range []uint64{1 << 20, exactSpanMax, 1 << 23, 1 << 25, 150000 * 100, 200000 * 29999} {
		inverse := stream(1)
		for exponent, base := modulus-2, span%modulus; exponent > 0; exponent, base = exponent>>1, multiplyMod(base, base) {
			if exponent&1 == 1 {
				inverse = stream(multiplyMod(uint64(inverse), base))
			}
		}
		for distance := range uint64(2000) {
			for _, residue := range []uint64{distance + 1, modulus - 1 - distance} {
				seed := multiplyMod(uint64(inverse), residue)
				require.Equal(t, residue, multiplyMod(seed, span%modulus))
				want := officialUniform(int64(seed), 1, int64(span))
				b := between(1, int64(span))
				require.Equal(t, want, b.draw(stream(seed)), "seed %d, span %d", seed, span)
				var drawn [1]int64
				drawEach(drawn[:], stream(multiplyMod(seed, previous)), b)
				require.Equal(t, want, drawn[0], "seed %d, span %d", seed, span)
				if want != 1+int64(uniform(seed, span)) {
					differences++
					require.Greater(t, span, uint64(exactSpanMax))
				}
			}
		}
	}
	require.NotZero(t, differences, "the wide form is needed")
}
