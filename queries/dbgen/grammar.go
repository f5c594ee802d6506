package dbgen

// grammar is the pseudo text grammar in the form in which it can be written
// fastest: a draw finds its word with two loads and no search. Immutable.
type grammar struct {
	sentences    choice[form]
	nounPhrases  choice[form]
	verbPhrases  choice[form]
	nouns        choice[word]
	verbs        choice[word]
	adverbs      choice[word]
	adjectives   choice[word]
	commaBefore  choice[word] // adjectives with ", " behind them
	prepositions choice[word] // with " the " behind them
	auxiliaries  choice[word]
	terminators  choice[word]
}

// choice is a weighted list, expanded so that a uniform draw is an index.
type choice[T any] struct {
	items []T
	index []uint8 // one entry per unit of weight
}

// word is a word with its separator behind it, padded so that it can be
// written with one copy of fixed size; size bytes of it count.
type word struct {
	bytes [wordSizeMax]byte
	size  int
}

// form is the sequence of tokens of a phrase.
type form string

func newGrammar() *grammar {
	return &grammar{
		sentences:    newChoice(sentenceForms, newForm),
		nounPhrases:  newChoice(nounPhrases, newForm),
		verbPhrases:  newChoice(verbPhrases, newForm),
		nouns:        newChoice(nouns, newWord(" ")),
		verbs:        newChoice(verbs, newWord(" ")),
		adverbs:      newChoice(adverbs, newWord(" ")),
		adjectives:   newChoice(adjectives, newWord(" ")),
		commaBefore:  newChoice(adjectives, newWord(", ")),
		prepositions: newChoice(prepositions, newWord(" the ")),
		auxiliaries:  newChoice(auxiliaries, newWord(" ")),
		terminators:  newChoice(terminators, newWord(" ")),
	}
}

func newChoice[T any](list []weightedWord, convert func(string) T) choice[T] {
	var c choice[T]
	for i, entry := range list {
		c.items = append(c.items, convert(entry.text))
		for range entry.weight {
			c.index = append(c.index, uint8(i))
		}
	}
	return c
}

func newForm(tokens string) form { return form(tokens) }

func newWord(separator string) func(string) word {
	return func(text string) word {
		var w word
		w.size = copy(w.bytes[:], text+separator)
		return w
	}
}

// pick advances the stream by one draw and returns what it selects.
func (c *choice[T]) pick(s stream) (*T, stream) {
	s = s.next()
	return &c.items[c.index[uniform(uint64(s), uint64(len(c.index)))]], s
}

// write picks a word and writes it to target at position.
func write(target []byte, position int, c *choice[word], s stream) (int, stream) {
	w, s := c.pick(s)
	*(*[wordSizeMax]byte)(target[position:]) = w.bytes
	return position + w.size, s
}

// sentence writes one sentence with a space behind it to the start of target
// and returns its length and the stream behind it.
// Preconditions: len(target) ≥ sentenceSizeMax; bytes behind the sentence, up
// to that size, may be overwritten.
func (g *grammar) sentence(target []byte, s stream) (int, stream) {
	tokens, s := g.sentences.pick(s)
	position := 0
	for i := range len(*tokens) {
		switch (*tokens)[i] {
		case 'N':
			position, s = g.nounPhrase(target, position, s)
		case 'V':
			position, s = g.verbPhrase(target, position, s)
		case 'P':
			position, s = write(target, position, &g.prepositions, s)
			position, s = g.nounPhrase(target, position, s)
		default: // a terminator abuts the word before it
			position, s = write(target, position-1, &g.terminators, s)
		}
	}
	return position, s
}

func (g *grammar) nounPhrase(target []byte, position int, s stream) (int, stream) {
	tokens, s := g.nounPhrases.pick(s)
	switch *tokens {
	case "JN":
		position, s = write(target, position, &g.adjectives, s)
	case "J,JN":
		position, s = write(target, position, &g.commaBefore, s)
		position, s = write(target, position, &g.adjectives, s)
	case "DJN":
		position, s = write(target, position, &g.adverbs, s)
		position, s = write(target, position, &g.adjectives, s)
	}
	return write(target, position, &g.nouns, s)
}

func (g *grammar) verbPhrase(target []byte, position int, s stream) (int, stream) {
	tokens, s := g.verbPhrases.pick(s)
	if (*tokens)[0] == 'X' {
		position, s = write(target, position, &g.auxiliaries, s)
	}
	position, s = write(target, position, &g.verbs, s)
	if (*tokens)[len(*tokens)-1] == 'D' {
		position, s = write(target, position, &g.adverbs, s)
	}
	return position, s
}
