package duckdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mention is one place where a query names a relation or a function, in the words of DuckDB's own parser.
type Mention struct {
	// Catalog and Schema are empty where the query does not say them. In a.b, DuckDB's parser calls a the schema.
	Catalog, Schema, Name string
	// Offset is where the name begins in the text, -1 if it is not known.
	Offset int
}

// Mentions are what a query names: relations in the order of the text, without the names of its own common table
// expressions, and functions in no order.
type Mentions struct {
	Relations, Functions []Mention
}

// mentionsMax bounds the texts that are looked at: DuckDB's parse tree in JSON is some thirty times as long.
const mentionsMax = 256 << 10

// Mentions parses one query, of PostgreSQL's or DuckDB's dialect. It looks no name up.
func (c *Connection) Mentions(ctx context.Context, query string) (*Mentions, error) {
	if len(query) > mentionsMax {
		return nil, &Error{Message: fmt.Sprintf("the query has %d bytes; its names can be looked at up to %d", len(query), mentionsMax), State: "54001", Byte: -1}
	}
	tree, err := c.parse(ctx, query)
	if err != nil {
		return nil, err
	}
	m := &mentioner{}
	m.walk(tree, nil)
	slices.SortStableFunc(m.Relations, func(a, b Mention) int { return a.Offset - b.Offset })
	return &m.Mentions, nil
}

// parse is DuckDB's parse tree of the query.
func (c *Connection) parse(ctx context.Context, query string) (any, error) {
	if err := c.check(query); err != nil {
		return nil, err
	}
	Parsed.Tell(query)
	texts, err := c.Texts(ctx, "SELECT CAST(system.main.json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)", query)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Statements []any  `json:"statements"`
	}
	decoder := json.NewDecoder(strings.NewReader(strings.Join(texts, "")))
	decoder.UseNumber()
	if err := decoder.Decode(&parsed); err != nil {
		return nil, fmt.Errorf("read DuckDB's parse tree: %w", err)
	}
	switch {
	case parsed.Error && parsed.Type == "parser":
		return nil, &Error{Message: parsed.Message, State: "42601", Byte: -1}
	case parsed.Error || len(parsed.Statements) != 1:
		return nil, &Error{Message: "only a single query can be used here", State: "0A000", Byte: -1}
	}
	return parsed.Statements[0], nil
}

// mentioner walks a parse tree.
type mentioner struct{ Mentions }

// commonTable is a WITH entry in scope; the newest comes first.
type commonTable struct {
	name string
	next *commonTable
}

func (t *commonTable) find(name string) bool {
	for ; t != nil; t = t.next {
		if strings.EqualFold(t.name, name) {
			return true
		}
	}
	return false
}

func (m *mentioner) walk(tree any, scope *commonTable) {
	switch x := tree.(type) {
	case []any:
		for _, item := range x {
			m.walk(item, scope)
		}
	case map[string]any:
		if _, ok := x["cte_map"]; ok {
			scope = m.commonTables(x, scope)
		}
		switch {
		case x["type"] == "BASE_TABLE":
			relation := mention(x, "catalog_name", "schema_name", "table_name")
			if relation.Catalog != "" || relation.Schema != "" || !scope.find(relation.Name) {
				m.Relations = append(m.Relations, relation)
			}
		case x["function_name"] != nil:
			m.Functions = append(m.Functions, mention(x, "catalog", "schema", "function_name"))
		}
		for key, item := range x {
			if key != "cte_map" {
				m.walk(item, scope)
			}
		}
	}
}

// commonTables walks the WITH clause of a query and gives the scope of what is behind it. An entry is seen by those
// behind it, and by itself only if it is recursive: WITH t AS (SELECT … FROM t) reads a table t, to PostgreSQL and to
// DuckDB.
func (m *mentioner) commonTables(node map[string]any, scope *commonTable) *commonTable {
	clause, _ := node["cte_map"].(map[string]any)
	entries, _ := clause["map"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		name, _ := entry["key"].(string)
		added := &commonTable{name: name, next: scope}
		if isRecursive(entry["value"]) {
			m.walk(entry["value"], added)
		} else {
			m.walk(entry["value"], scope)
		}
		scope = added
	}
	return scope
}

func isRecursive(entry any) bool {
	value, _ := entry.(map[string]any)
	query, _ := value["query"].(map[string]any)
	node, _ := query["node"].(map[string]any)
	return node["type"] == "RECURSIVE_CTE_NODE"
}

func mention(x map[string]any, catalog, schema, name string) Mention {
	text := func(key string) string {
		s, _ := x[key].(string)
		return s
	}
	out := Mention{Catalog: text(catalog), Schema: text(schema), Name: text(name), Offset: -1}
	if at, ok := x["query_location"].(json.Number); ok {
		if n, err := at.Int64(); err == nil { // DuckDB writes 2⁶⁴−1 for a place that it does not know
			out.Offset = int(n)
		}
	}
	return out
}
