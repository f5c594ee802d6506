package hugetable

import (
	"strings"
	"unicode"
)

// FoldedName is a name behind what all names have in common that are the same if case does not matter. Without a Name
// it comes before all of those.
type FoldedName struct{ Folded, Name TableName }

// Folded puts it before a name.
func Folded(name TableName) FoldedName {
	return FoldedName{TableName{Schema: withoutCase(name.Schema), Name: withoutCase(name.Name)}, name}
}

// Compare orders names that are the same without regard to case beside each other.
func (n FoldedName) Compare(other FoldedName) int {
	if order := n.Folded.Compare(other.Folded); order != 0 {
		return order
	}
	return n.Name.Compare(other.Name)
}

// withoutCase gives two texts the same one if strings.EqualFold does not distinguish them: of each letter the first of
// those that are the same without regard to case.
func withoutCase(text string) string {
	return strings.Map(func(letter rune) rune {
		first := letter
		for r := unicode.SimpleFold(letter); r != letter; r = unicode.SimpleFold(r) {
			first = min(first, r)
		}
		return first
	}, text)
}
