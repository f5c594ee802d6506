package typing

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// Functions in FROM are open to package bind: DuckDB says what columns they have. Of those whose columns the text
// names, as the dialect has it do, their types may be known.
//
//	FROM unnest(csm_regexp_split_to_table(s, ',')) AS x(x)                      x is a text
//	FROM (SELECT unnest(a) AS unnest, unnest(b) AS unnest) AS t(x, y)           likewise, of unnest(a, b)

// ofRows is the type of what a reference means if that can only be a column of such a function.
func (n *inference) ofRows(ref bind.Ref) uint32 {
	list := n.rowsOf(ref)
	switch at := ref.May; {
	case list == nil:
		return 0
	case at[0].Index >= len(list):
		return bigintType // of WITH ORDINALITY
	default:
		return n.call(list[at[0].Index])
	}
}

// rowsOf are the functions of the columns of the item of which a reference means one; nil: it is not certain.
func (n *inference) rowsOf(ref bind.Ref) []*pg.FuncCall {
	if len(ref.May) != 1 || ref.May[0].Item == nil || ref.May[0].Index < 0 {
		return nil
	}
	for _, it := range n.bound.Items { // an open one may have a column of that name
		if it.Open && n.namedRows(it) == nil {
			return nil
		}
	}
	return n.namedRows(ref.May[0].Item)
}

// namedRows are the functions that an item is of, if the text names all its columns.
func (n *inference) namedRows(it *bind.Item) []*pg.FuncCall {
	if it.Query != nil {
		list, known := n.lists[it]
		if !known {
			if n.lists == nil {
				n.lists = map[*bind.Item][]*pg.FuncCall{}
			}
			n.lists[it] = nil // for what its own arguments refer to
			list = n.namedLists(it)
			n.lists[it] = list
		}
		return list
	}
	f := it.Function
	if f == nil || len(f.Functions) != 1 || len(f.Coldeflist) > 0 {
		return nil
	}
	columns := 1
	if f.Ordinality {
		columns++
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || len(it.Columns) != columns {
		return nil
	}
	if _, name := tree.FunctionName(call); name != "unnest" && name != "generate_series" || len(call.Args) == 0 {
		return nil
	}
	return []*pg.FuncCall{call}
}

// namedLists are calls of unnest of which a query has nothing else. One of structs has a column for each of their
// fields.
func (n *inference) namedLists(it *bind.Item) (list []*pg.FuncCall) {
	targets := it.Query.Stmt.GetTargetList()
	if len(it.Columns) != len(targets) || len(it.Query.Items) > 0 {
		return nil
	}
	for _, t := range targets {
		call := t.GetResTarget().GetVal().GetFuncCall()
		if call == nil || tree.LastText(call.Funcname) != "unnest" || n.call(call) == 0 {
			return nil
		}
		list = append(list, call)
	}
	return list
}

// unnested is the type of unnest(list). The dialect writes functions that give rows so, with lists of their rows.
func (n *inference) unnested(list *pg.Node) uint32 {
	if f := list.GetFuncCall(); f != nil && tree.LastText(f.Funcname) == "csm_regexp_matches" {
		return arraysOf[textType]
	}
	return elementsOf[n.of(list)]
}

// ofPair is the type of a field of the pairs that json_each gives: (csm_pair).key.
func (n *inference) ofPair(x *pg.A_Indirection) uint32 {
	of := x.Arg.GetColumnRef()
	if of == nil || len(x.Indirection) != 1 || tree.LastText(of.Fields) != "csm_pair" {
		return 0
	}
	list := n.rowsOf(n.bound.Ref(of))
	if len(list) != 1 {
		return 0
	}
	name := strings.TrimPrefix(tree.LastText(list[0].Args[0].GetFuncCall().GetFuncname()), pgcatalog.TranslatedPrefix)
	switch field := x.Indirection[0].GetString_().GetSval(); {
	case name != "json_each_text" && name != "jsonb_each_text" && name != "json_each" && name != "jsonb_each":
		return 0
	case field == "key", field == "value" && strings.HasSuffix(name, "_text"):
		return textType
	}
	return 0
}
