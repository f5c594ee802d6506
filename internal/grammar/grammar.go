package grammar

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Option is something that can be written in a statement or left out.
type Option string

// Set is what a statement uses.
type Set map[Option]bool

// Node is the node that has it.
func (o Option) Node() string {
	node, _, _ := strings.Cut(string(o), ".")
	return node
}

const temporary = "TEMP "

// Walk lists all options of all nodes that the parser makes of what a client sends.
func Walk() (all []Option) {
	messages := (&pg.Node{}).ProtoReflect().Descriptor().ParentFile().Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		if analyzed[string(m.Name())] {
			continue
		}
		options := ofMessage(m)
		all = append(all, options...)
		if slices.Contains(temporaryNodes, string(m.Name())) {
			for _, o := range options {
				all = append(all, temporary+o)
			}
		}
	}
	return slices.DeleteFunc(all, func(o Option) bool {
		return unwritable(strings.TrimPrefix(string(o), temporary)) || o == "TEMP CreateTableAsStmt.objtype=OBJECT_MATVIEW"
	})
}

func ofMessage(m protoreflect.MessageDescriptor) (options []Option) {
	node := Option(m.Name())
	options = append(options, node)
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		field := node + "." + Option(f.Name())
		coded, bits := codes[string(field)], bitNames[string(field)]
		switch {
		case isPosition(f):
		case f.Kind() == protoreflect.EnumKind:
			for k := range f.Enum().Values().Len() {
				if v := f.Enum().Values().Get(k); v.Number() != 0 { // which is "undefined" everywhere
					options = append(options, field+"="+Option(v.Name()))
				}
			}
		case coded != "":
			for _, code := range strings.Fields(coded) {
				options = append(options, field+"="+Option(code))
			}
		case bits != nil:
			for _, name := range bits {
				options = append(options, field+"="+Option(name))
			}
		default:
			options = append(options, field)
		}
	}
	return options
}

// isPosition: the parser notes where things stand.
func isPosition(f protoreflect.FieldDescriptor) bool {
	name := string(f.Name())
	return name == "location" || strings.HasSuffix(name, "_location") || name == "stmt_len"
}

// Of says what a statement uses, and which kinds of statement it is. It is an error if PostgreSQL's parser does not
// understand it.
func Of(sql string) (used Set, roots []string, err error) {
	tree, err := pg.Parse(sql)
	if err != nil {
		return nil, nil, err
	}
	used = Set{}
	for _, s := range tree.Stmts {
		used.node("", s.Stmt)
		m := s.Stmt.ProtoReflect()
		root := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
		roots = append(roots, string(root.Message().Name()))
	}
	return used, roots, nil
}

// node marks what a node uses. What makes a temporary object has options of its own; the queries in it are like any
// other.
func (u Set) node(prefix string, n *pg.Node) {
	switch {
	case n.GetCreateStmt().GetRelation().GetRelpersistence() == "t", n.GetViewStmt().GetView().GetRelpersistence() == "t",
		n.GetCreateTableAsStmt().GetInto().GetRel().GetRelpersistence() == "t":
		prefix = temporary
	case n.GetSelectStmt() != nil:
		prefix = ""
	}
	n.ProtoReflect().Range(func(_ protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		u.message(prefix, v.Message())
		return true
	})
}

func (u Set) message(prefix string, m protoreflect.Message) {
	name := string(m.Descriptor().Name())
	here := ""
	if slices.Contains(temporaryNodes, name) {
		here = prefix
	}
	u[Option(here+name)] = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if isPosition(f) {
			return true
		}
		field := name + "." + string(f.Name())
		switch {
		case codes[field] != "" && f.Kind() == protoreflect.StringKind:
			u[Option(here+field+"="+v.String())] = true
		case bitNames[field] != nil:
			for bit, bitName := range bitNames[field] {
				if v.Int()&int64(bit) != 0 {
					u[Option(here+field+"="+bitName)] = true
				}
			}
		default:
			u[Option(here+field)] = true
			u.values(prefix, here+field, f, v)
		}
		return true
	})
}

func (u Set) values(prefix, field string, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	if f.IsList() {
		for i := range v.List().Len() {
			u.value(prefix, field, f, v.List().Get(i))
		}
		return
	}
	u.value(prefix, field, f, v)
}

func (u Set) value(prefix, field string, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case f.Kind() == protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			u[Option(field+"="+string(e.Name()))] = true
		}
	case f.Kind() != protoreflect.MessageKind:
	default:
		n, ok := v.Message().Interface().(*pg.Node)
		if !ok {
			u.message(prefix, v.Message())
			return
		}
		if element := n.GetDefElem(); element != nil {
			u[Option(field+": "+element.Defname)] = true
		}
		u.node(prefix, n)
	}
}

// Without are the options of u that other does not use.
func (u Set) Without(other Set) (missing []Option) {
	for o := range u {
		if !other[o] {
			missing = append(missing, o)
		}
	}
	slices.Sort(missing)
	return missing
}

// Shorter is a statement from which some words were left out, so that it uses less.
type Shorter struct {
	SQL     string
	LeftOut string
	Without []Option // what it does not use any more, and no other one lacks with fewer of its options
}

// Leave leaves out each run of up to most words of a statement and returns, for each option that can be left out, the
// text that lacks it and the fewest others.
func Leave(sql string, most int) (shorter []Shorter, err error) {
	used, roots, err := Of(sql)
	if err != nil {
		return nil, err
	}
	scan, err := pg.Scan(sql)
	if err != nil {
		return nil, err
	}
	for from := range scan.Tokens {
		for to := from; to < min(from+most, len(scan.Tokens)); to++ {
			first, last := scan.Tokens[from], scan.Tokens[to]
			text := sql[:first.Start] + sql[last.End:]
			rest, kinds, err := Of(text)
			if err != nil || !slices.Equal(roots, kinds) {
				continue
			}
			if without := used.Without(rest); len(without) > 0 && replaces(rest.Without(used), without) {
				shorter = append(shorter, Shorter{SQL: text, LeftOut: sql[first.Start:last.End], Without: without})
			}
		}
	}
	slices.SortStableFunc(shorter, func(a, b Shorter) int { return len(a.Without) - len(b.Without) })
	return fewest(shorter), nil
}

// replaces reports whether the additional options of a text only replace values of fields that it lacks: JOIN_INNER
// for JOIN_FULL.
func replaces(more, without []Option) bool {
	for _, o := range more {
		field, _, _ := strings.Cut(string(o), "=")
		if !slices.ContainsFunc(without, func(w Option) bool { return strings.HasPrefix(string(w), field+"=") }) {
			return false
		}
	}
	return true
}

// fewest keeps of each text the options that no earlier text lacks, and drops texts without any.
func fewest(shorter []Shorter) (kept []Shorter) {
	seen := Set{}
	for _, s := range shorter {
		s.Without = slices.DeleteFunc(s.Without, func(o Option) bool { return seen[o] })
		for _, o := range s.Without {
			seen[o] = true
		}
		if len(s.Without) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}
