package statement

import "github.com/csmsql/csmsql/sql/sqlerror"

// DomainValue is what the checks of a domain call its values.
const DomainValue = "value"

// createDomain reads behind CREATE DOMAIN. A domain is a table of one column that has no rows.
func (c *cursor) createDomain() (_ any, err error) {
	t := &CreateTable{Domain: true}
	if t.Name, err = c.name(); err != nil {
		return nil, err
	}
	if isTemporary(t.Name) {
		return nil, c.refuse("CREATE DOMAIN in a temporary schema", "Make it in a schema that is kept.")
	}
	c.accept("as")
	column := Column{Name: DomainValue, At: c.position(c.peek(0).Start)}
	column.Type = c.until(startsConstraint)
	if column.Type == "" {
		return nil, c.unexpected()
	}
	nullable := false
	for !c.done() {
		at := c.position(c.peek(0).Start)
		name := ""
		if c.accept("constraint") {
			var ok bool
			if name, ok = c.identifier(); !ok {
				return nil, c.unexpected()
			}
		}
		switch {
		case c.accept("not", "null"):
			column.NotNull = true
		case c.accept("null"):
			nullable = true
		case name == "" && c.accept("default"):
			if column.Default != "" {
				return nil, &sqlerror.Error{State: "42601", Message: "multiple default expressions", At: at}
			}
			err = c.defaultValue(&column)
		case c.peek(0).Is("collate"):
			return nil, c.refuse("COLLATE of a domain", "Text is ordered by its bytes; leave it out.")
		case c.peek(0).Is("check"):
			var k Constraint
			k, err = c.constraint(column.Name)
			k.Name = name
			t.Constraints = append(t.Constraints, k)
		default:
			return nil, c.notOfDomains(at)
		}
		if err != nil {
			return nil, err
		}
		if column.NotNull && nullable {
			return nil, &sqlerror.Error{State: "42601", Message: "conflicting NULL/NOT NULL constraints", At: at}
		}
	}
	t.Columns = []Column{column}
	return t, c.finish()
}

// alterDomain reads behind ALTER DOMAIN.
func (c *cursor) alterDomain() (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	a, named := Action{Column: DomainValue, At: c.position(c.peek(0).Start)}, true
	switch {
	case c.accept("rename", "to"):
		if a.To, named = c.identifier(); named {
			return &Rename{Object: Domain, Name: name, To: a.To}, c.finish()
		}
	case c.accept("set", "schema"):
		return c.setSchema(&SetSchema{Object: Domain, Name: name})
	case c.accept("rename", "constraint"):
		a.Kind = RenameConstraint
		if a.Constraint, named = c.identifier(); named && c.accept("to") {
			a.To, named = c.identifier()
		}
		named = named && a.To != ""
	case c.accept("validate", "constraint"):
		a.Kind = ValidateConstraint
		a.Constraint, named = c.identifier()
	case c.peek(0).Is("drop") && c.peek(1).Is("constraint"):
		a, err = c.action(&name)
	case c.peek(0).Is("add") && startsKey(c.peek(1)):
		c.next()
		a.Kind, a.Constraints = AddKey, make([]Constraint, 1)
		a.Constraints[0], err = c.tableConstraint()
		if kind := a.Constraints[0].Kind; err == nil && kind != Check {
			return nil, &sqlerror.Error{State: "42601", Message: string(kind) + " constraints not possible for domains"}
		}
	default:
		if named, err = c.promise(&a); !named && err == nil {
			return nil, c.refuseAlter(Domain)
		}
	}
	if err == nil && !named {
		err = c.unexpected()
	}
	if err != nil {
		return nil, err
	}
	return &AlterTable{Object: Domain, Name: name, Actions: []Action{a}}, c.finish()
}

// notOfDomains is the error of what no domain can have.
func (c *cursor) notOfDomains(at int) error {
	for word, what := range map[string]string{
		"primary": "primary key", "unique": "unique", "references": "foreign key", "exclude": "exclusion",
	} {
		if c.peek(0).Is(word) {
			return &sqlerror.Error{State: "42601", Message: what + " constraints not possible for domains", At: at}
		}
	}
	return c.unexpected()
}

// Tag is the statement's command tag.
func (t *CreateTable) Tag() string {
	if t.Domain {
		return "CREATE DOMAIN"
	}
	return "CREATE TABLE"
}
