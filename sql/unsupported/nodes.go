package unsupported

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// The names of clauses, by the nodes that they are.

var (
	strengths = map[pg.LockClauseStrength]string{
		pg.LockClauseStrength_LCS_FORKEYSHARE: "FOR KEY SHARE", pg.LockClauseStrength_LCS_FORSHARE: "FOR SHARE",
		pg.LockClauseStrength_LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE", pg.LockClauseStrength_LCS_FORUPDATE: "FOR UPDATE",
	}
	waits = map[pg.LockWaitPolicy]string{pg.LockWaitPolicy_LockWaitSkip: " SKIP LOCKED", pg.LockWaitPolicy_LockWaitError: " NOWAIT"}
)

func locking(node any) string {
	if l, ok := node.(*pg.LockingClause); ok {
		of := ""
		if len(l.LockedRels) > 0 {
			of = " OF"
		}
		return strengths[l.Strength] + of + waits[l.WaitPolicy]
	}
	return ""
}

func changeInWith(node any) string {
	if c, ok := node.(*pg.CommonTableExpr); ok {
		switch q := c.Ctequery; {
		case q.GetInsertStmt() != nil:
			return "WITH … AS (INSERT …)"
		case q.GetUpdateStmt() != nil:
			return "WITH … AS (UPDATE …)"
		case q.GetDeleteStmt() != nil:
			return "WITH … AS (DELETE …)"
		case q.GetMergeStmt() != nil:
			return "WITH … AS (MERGE …)"
		}
	}
	return ""
}

func orderUsing(node any) string {
	if s, ok := node.(*pg.SortBy); ok && s.SortbyDir == pg.SortByDir_SORTBY_USING {
		return "ORDER BY … USING"
	}
	return ""
}

func symmetric(node any) string {
	if e, ok := node.(*pg.A_Expr); ok {
		switch e.Kind {
		case pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
			return "BETWEEN SYMMETRIC"
		case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
			return "NOT BETWEEN SYMMETRIC"
		}
	}
	return ""
}

func sample(node any) string {
	if s, ok := node.(*pg.RangeTableSample); ok && len(s.Method) > 0 {
		name := "TABLESAMPLE " + strings.ToUpper(s.Method[len(s.Method)-1].GetString_().GetSval()) + " of a number without PERCENT"
		if s.Repeatable != nil {
			name += ", REPEATABLE or not,"
		}
		return name
	}
	return ""
}

func dropped(node any) string {
	if d, ok := node.(*pg.DropStmt); ok {
		object := strings.TrimPrefix(d.RemoveType.String(), "OBJECT_")
		if name := objects[d.RemoveType]; name != "" {
			object = name
		}
		return "DROP " + strings.ReplaceAll(object, "_", " ")
	}
	return ""
}

// objects are those that pg_query calls otherwise than SQL.
var objects = map[pg.ObjectType]string{
	pg.ObjectType_OBJECT_MATVIEW: "MATERIALIZED VIEW", pg.ObjectType_OBJECT_STATISTIC_EXT: "STATISTICS",
	pg.ObjectType_OBJECT_TSPARSER: "TEXT SEARCH PARSER", pg.ObjectType_OBJECT_TSDICTIONARY: "TEXT SEARCH DICTIONARY",
	pg.ObjectType_OBJECT_TSTEMPLATE: "TEXT SEARCH TEMPLATE", pg.ObjectType_OBJECT_TSCONFIGURATION: "TEXT SEARCH CONFIGURATION",
	pg.ObjectType_OBJECT_FDW: "FOREIGN DATA WRAPPER", pg.ObjectType_OBJECT_FOREIGN_SERVER: "SERVER",
	pg.ObjectType_OBJECT_OPCLASS: "OPERATOR CLASS", pg.ObjectType_OBJECT_OPFAMILY: "OPERATOR FAMILY",
}

// constraints are those of a temporary table's column that DuckDB's parser reads and does not know.
var constraints = map[pg.ConstrType]string{
	pg.ConstrType_CONSTR_ATTR_DEFERRABLE: "DEFERRABLE", pg.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE: "NOT DEFERRABLE",
	pg.ConstrType_CONSTR_ATTR_DEFERRED: "INITIALLY DEFERRED", pg.ConstrType_CONSTR_ATTR_IMMEDIATE: "INITIALLY IMMEDIATE",
	pg.ConstrType_CONSTR_EXCLUSION: "EXCLUDE", pg.ConstrType_CONSTR_IDENTITY: "GENERATED … AS IDENTITY",
}

func constraint(node any) string {
	if c, ok := node.(*pg.Constraint); ok {
		return constraints[c.Contype]
	}
	return ""
}

func withoutOIDs(node any) string {
	if _, ok := node.(*pg.CreateStmt); ok { // whose tree does not have it: it means what is so anyway
		return "WITHOUT OIDS"
	}
	return ""
}

func references(node any) string {
	if c, ok := node.(*pg.Constraint); ok && c.Contype == pg.ConstrType_CONSTR_FOREIGN {
		return "REFERENCES of a table that is not temporary"
	}
	return ""
}
