package constraint

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/lex"
)

// A column of a domain has the domain's base type, and on its field which domain that is; what the domain demands of
// values is among the checks of the table (Constraint.Domain).

const (
	// domainKey is of the metadata of a field: the domain's number.
	domainKey = mention.Domain
	// domainDefaultKey is of the same: the default that the domain has.
	domainDefaultKey = "csm.domain.default"
	// domainValue is what the checks of a domain call its values.
	domainValue = "value"
)

// InDomain is a column of a domain, which has a default, or none.
func InDomain(f arrow.Field, number uint64, value string) arrow.Field {
	f.Metadata = mark.With(f.Metadata, domainKey, strconv.FormatUint(number, 10))
	f.Metadata = mark.WithAny(f.Metadata, domainDefaultKey, value)
	return f
}

// DomainOf is the number of the domain of a column; false: it is of none.
func DomainOf(f arrow.Field) (number uint64, ok bool) {
	text, ok := f.Metadata.GetValue(domainKey)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(text, 10, 64)
	return number, err == nil
}

// DomainDefault is the default that a column has of its domain, empty: none.
func DomainDefault(f arrow.Field) string {
	text, _ := f.Metadata.GetValue(domainDefaultKey)
	return text
}

// isDomainWord reports whether a token of a domain's check means the value.
func isDomainWord(before, t, behind lex.Token) bool {
	name, ok := t.Name()
	return ok && t.Kind != lex.String && strings.EqualFold(name, domainValue) && !before.Is(".") &&
		!behind.IsAny("(", ".")
}

// OfDomain is an expression about a domain's value as one about what by is.
func OfDomain(expression, by string) string {
	var b strings.Builder
	var before, t lex.Token
	last := 0
	take := func(behind lex.Token) {
		if t.Text != "" && isDomainWord(before, t, behind) {
			b.WriteString(expression[last:t.Start] + by)
			last = t.End()
		}
		before, t = t, behind
	}
	for behind := range lex.Client.Tokens(expression) {
		take(behind)
	}
	take(lex.Token{})
	return b.String() + expression[last:]
}
