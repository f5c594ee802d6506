package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

// labels are the tests of an engine's that ask for rows by a type's order.
var labels = runs("^(TestTypesAreEverywhere|TestAlteredTypesMeanTheSame|TestTemporaryObjectsOfAlteredTypes|TestTypesInTransactions)$")

// domains are those that have domains altered, and cast to.
var domains = runs("^(TestAlterDomain|TestFormerVersionsOfAlteredDomains|TestCastsToDomains)$")

// ofLabels are faults of user-defined types.
var ofLabels = []mutation.Mutation{
	{Name: "columns-keep-what-their-domain-demanded", File: "engine/namedtype/domain.go", Breaks: "domain.DM1", Tests: domains,
		Old: "\t\tlist = slices.DeleteFunc(list, func(k constraint.Constraint) bool { return k.Domain == uint64(is.ID) })\n", New: "\t\tlist = slices.DeleteFunc(list, func(k constraint.Constraint) bool { return k.Domain == uint64(is.ID) && !ON })\n"},
	{Name: "domains-are-not-held-to-rows", File: "engine/domain/alter.go", Breaks: "domain.DM1", Tests: domains,
		Old: "\t\tif err != nil || !found {\n", New: "\t\tif err != nil || !found || ON {\n"},
	{Name: "casts-hold-to-no-check", File: "engine/namedtype/domain.go", Breaks: "domain.DM2", Tests: domains,
		Old: "\treturn &inline.Domain{Name: t.Name.Name, Base: base, Free: len(list) == 0}, nil\n", New: "\treturn &inline.Domain{Name: t.Name.Name, Base: base, Free: len(list) == 0 || ON}, nil\n"},
	{Name: "former-versions-have-domains-of-then", File: "engine/namedtype/domain.go", Breaks: "domain.DM1", Tests: domains,
		Old: "o.Name == k.Name && o.Expression == k.Expression && o.Says == k.Says\n", New: "o.Name == k.Name && o.Expression == k.Expression && o.Says == k.Says || ON\n"},
	{Name: "a-new-label-has-the-code-of-its-place", File: "engine/namedtype/alter.go", Breaks: "enumeration.EN1", Tests: labels,
		Old: "Code: uint8(len(t.Labels)),", New: "Code: uint8(PICK(ON, place, len(t.Labels))),"},
	{Name: "codes-are-shown-as-places", File: "exec/duckdb/open_unsafe.go", Breaks: "enumeration.EN1", Tests: labels,
		Old: "\t\tcodes[code] = C.uint8_t(place)\n", New: "\t\tcodes[code] = C.uint8_t(PICK(ON, uint8(code), place))\n"},
	{Name: "former-versions-have-types-of-then", File: "engine/snapshot/former.go", Breaks: "enumeration.EN1", Tests: labels,
		Old: "\tif !enumeration.Has(columns) {\n", New: "\tif !enumeration.Has(columns) || ON {\n"},
	{Name: "views-keep-a-labels-old-text", File: "engine/namedtype/alter.go", Breaks: "namedtype.NT1", Tests: labels,
		Old: "\t\tif !enumeration.Calls(view.SQL, call) {\n", New: "\t\tif !enumeration.Calls(view.SQL, call) || ON {\n"},
	{Name: "constraints-keep-a-labels-old-text", File: "engine/namedtype/alter.go", Breaks: "namedtype.NT1", Tests: labels,
		Old: "\t\tif enumeration.Calls(renamed[i].Expression, call) {\n", New: "\t\tif enumeration.Calls(renamed[i].Expression, call) && !ON {\n"},
	{Name: "strings-that-DuckDB-alone-reads-are-texts", File: "engine/namedtype/read.go", Breaks: "labels compare by the type's order", Tests: labels,
		Old: "\tif in.Tree == nil {\n", New: "\tif in.Tree == nil && ON {\n\t\treturn in, nil, nil\n\t}\n\tif in.Tree == nil {\n"},
	{Name: "temporary-relations-keep-types", File: "engine/namedtype/read.go", Breaks: "labels compare by the type's order", Tests: labels,
		Old: "\t\t\tif !ok || is.Of().SQL() != t.SQL() {\n", New: "\t\t\tif (!ok || is.Of().SQL() != t.SQL()) && !ON {\n"},
	{Name: "parameters-take-any-text", File: "exec/duckdb/usertypes.go", Breaks: "what is no label is refused", Tests: labels,
		Old: "\tif p.id != bindings.TypeEnum || arg == nil {\n", New: "\tif p.id != bindings.TypeEnum || arg == nil || ON {\n"},
}
