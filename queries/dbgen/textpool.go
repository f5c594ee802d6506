package dbgen

import "sync"

const (
	// textPoolSize is how much text DuckDB's generator makes: every comment is
	// a substring of it. The TPC's own program makes 300 MiB, hence other
	// comments; see doc.go.
	textPoolSize = 10 << 20
	// textPoolSeed is the official seed of the stream that writes the text.
	textPoolSeed stream = 933588178
	// sentenceSizeMax bounds one sentence with its trailing space (the longest
	// possible one has 184 bytes) plus the overshoot of the last word's copy.
	sentenceSizeMax = 256
	// wordSizeMax is the size of a word's fixed copy: the longest entry is
	// "alongside of the ".
	wordSizeMax = 24
)

// textPool returns the text that all generators of the process share. The
// first call writes it, in about 15 ms; later ones return it.
var textPool = sync.OnceValue(func() []byte {
	grammar := newGrammar()
	text := make([]byte, textPoolSize+sentenceSizeMax)
	for position, s := 0, textPoolSeed; position < textPoolSize; {
		var length int
		length, s = grammar.sentence(text[position:], s)
		position += length
	}
	return text[:textPoolSize:textPoolSize]
})
