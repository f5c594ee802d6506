package pgcatalog

import (
	"strconv"
	"strings"
)

// Function is what a function is beside its name.
type Function struct {
	Parameters []Parameter
	Result     uint32 // its type
	Volatility byte   // as in pg_proc
	Parallel   byte
	Strict     bool
	Source     string // as pg_proc has it: the body of one that is written as a string
	Body       string // of one that is written as SQL; empty of others
	Macro      string // what a macro is made by; empty of functions
}

// Parameter of a Function. A macro's type is anyElement.
type Parameter struct {
	Name    string
	Type    uint32
	Default string // as its user wrote it
}

// AnyElement is the type of what may be of any.
const AnyElement = 2283

// tail is what pg_get_functiondef says behind the result.
func (f *Function) tail() string {
	var options strings.Builder
	for _, o := range []struct {
		is   bool
		word string
	}{
		{f.Volatility == 'i', "IMMUTABLE"}, {f.Volatility == 's', "STABLE"}, {f.Parallel == 's', "PARALLEL SAFE"},
		{f.Parallel == 'r', "PARALLEL RESTRICTED"}, {f.Strict, "STRICT"},
	} {
		if o.is {
			options.WriteString(" " + o.word)
		}
	}
	if options.Len() > 0 {
		options.WriteString("\n")
	}
	if f.Body != "" {
		return options.String() + f.Body + "\n"
	}
	tag := "$function$"
	for strings.Contains(f.Source, tag) {
		tag = "$x" + tag[1:]
	}
	return options.String() + "AS " + tag + f.Source + tag + "\n"
}

// functionRows are those of functions, and of their parameters, with the result as number 0.
func functionRows(types []Type, oids map[string]uint32) (functions, parameters rowSet) {
	functions = rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "schema", duckType: "VARCHAR"},
		{name: "schema_oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"},
		{name: "parameters", duckType: "SMALLINT"}, {name: "defaults", duckType: "SMALLINT"},
		{name: "result", duckType: "UINTEGER"}, {name: "types", duckType: "UINTEGER[]"},
		{name: "names", duckType: "VARCHAR[]"}, {name: "volatility", duckType: "VARCHAR"},
		{name: "parallel", duckType: "VARCHAR"}, {name: "strict", duckType: "BOOLEAN"},
		{name: "source", duckType: "VARCHAR"}, {name: "body", duckType: "VARCHAR"},
		{name: "macro", duckType: "VARCHAR"}, {name: "tail", duckType: "VARCHAR"},
	}
	parameters = rowSet{
		{name: "function", duckType: "UINTEGER"}, {name: "number", duckType: "SMALLINT"},
		{name: "name", duckType: "VARCHAR"}, {name: "type", duckType: "UINTEGER"},
		{name: "default", duckType: "VARCHAR"},
	}
	for _, t := range types {
		f := t.Function
		if f == nil {
			continue
		}
		var list []string
		var names []string
		named, defaults := false, 0
		parameters.add(number(t.OID), number(0), nil, number(f.Result), nil)
		for i, p := range f.Parameters {
			list, names = append(list, strconv.FormatUint(uint64(p.Type), 10)), append(names, p.Name)
			if named = named || p.Name != ""; p.Default != "" {
				defaults++
			}
			parameters.add(number(t.OID), number(i+1), optional(p.Name), number(p.Type), optional(p.Default))
		}
		if !named {
			names = nil
		}
		functions.add(number(t.OID), text(t.Schema), number(oids[t.Schema]), text(t.Name), number(len(list)),
			number(defaults), number(f.Result), text("["+strings.Join(list, ", ")+"]"), options(names),
			mark(f.Volatility), mark(f.Parallel), boolean(f.Strict), text(f.Source), optional(f.Body), optional(f.Macro), text(f.tail()))
	}
	return functions, parameters
}
