package catalog

import (
	"strings"
	"unicode"
)

// foldedName is a name behind what all names have in common that are the same if case does not matter.
type foldedName struct{ folded, name TableName }

func folded(name TableName) foldedName {
	return foldedName{TableName{Schema: fold(name.Schema), Name: fold(name.Name)}, name}
}

func (n foldedName) compare(other foldedName) int {
	if order := n.folded.Compare(other.folded); order != 0 {
		return order
	}
	return n.name.Compare(other.name)
}

// fold gives two texts the same one if strings.EqualFold does not tell them apart: of each letter the first of those
// that are the same without regard to case.
func fold(text string) string {
	return strings.Map(func(letter rune) rune {
		first := letter
		for r := unicode.SimpleFold(letter); r != letter; r = unicode.SimpleFold(r) {
			first = min(first, r)
		}
		return first
	}, text)
}
