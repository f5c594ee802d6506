package statistics

import (
	"unicode/utf8"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// maximumBound is the longest bound that is kept, in bytes.
const maximumBound = 64

// lowerBound cuts a long minimum: a prefix is never greater than the whole. Text is cut between characters.
func lowerBound(v string, text bool) (descriptor.Value, bool) {
	if len(v) <= maximumBound {
		return descriptor.BytesOf([]byte(v)), true
	}
	return descriptor.BytesOf([]byte(prefix(v, text))), false
}

// upperBound cuts a long maximum and makes the last character of the prefix the next greater one, so that the bound is
// above everything that begins with the prefix. If no character can be raised there is no bound.
func upperBound(v string, text bool) (descriptor.Value, bool) {
	if len(v) <= maximumBound {
		return descriptor.BytesOf([]byte(v)), true
	}
	cut := prefix(v, text)
	for len(cut) > 0 {
		if text {
			last, size := utf8.DecodeLastRuneInString(cut)
			cut = cut[:len(cut)-size]
			if last == utf8.RuneError && size == 1 {
				continue // no text after all; a shorter prefix still bounds
			}
			if next, ok := nextRune(last); ok {
				return descriptor.BytesOf(utf8.AppendRune([]byte(cut), next)), false
			}
			continue
		}
		last := cut[len(cut)-1]
		cut = cut[:len(cut)-1]
		if last < 0xff {
			return descriptor.BytesOf(append([]byte(cut), last+1)), false
		}
	}
	return descriptor.Value{}, false
}

func prefix(v string, text bool) string {
	end := maximumBound
	for text && end > 0 && !utf8.RuneStart(v[end]) {
		end--
	}
	if end == 0 { // no text after all
		end = maximumBound
	}
	return v[:end]
}

// nextRune is the next character in byte order, which is also code point order.
func nextRune(r rune) (rune, bool) {
	switch {
	case r == utf8.MaxRune:
		return 0, false
	case r == 0xD7FF: // after it come the surrogates, which are no characters
		return 0xE000, true
	default:
		return r + 1, true
	}
}
