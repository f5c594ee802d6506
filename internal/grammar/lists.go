package grammar

import "strings"

// temporaryNodes are those by which a table, view or sequence is defined: a temporary one is read by another code.
var temporaryNodes = []string{"CreateStmt", "CreateTableAsStmt", "IntoClause", "ViewStmt", "ColumnDef", "Constraint", "TableLikeClause"}

// analyzed are nodes that the parser does not make: PostgreSQL's analysis and planner make them, or they are the
// parser's answer itself; and those in which no option stands: literals, roles, and DefElem, whose name is an option of
// the node that has it.
var analyzed = words(`ParseResult ScanResult ScanToken SummaryResult Node Integer Float Boolean String BitString List OidList IntList
	RawStmt TableFunc Var Param Aggref WindowFunc WindowFuncRunCondition MergeSupportFunc SubscriptingRef FuncExpr
	OpExpr DistinctExpr NullIfExpr ScalarArrayOpExpr SubPlan AlternativeSubPlan FieldSelect FieldStore RelabelType
	CoerceViaIO ArrayCoerceExpr ConvertRowtypeExpr CollateExpr CaseTestExpr ArrayExpr RowCompareExpr JsonReturning
	JsonConstructorExpr JsonExpr JsonTablePath JsonTablePathScan JsonTableSiblingJoin MergeAction CoerceToDomain
	CoerceToDomainValue NextValueExpr InferenceElem TargetEntry RangeTblRef FromExpr OnConflictExpr Query
	RangeTblEntry RTEPermissionInfo RangeTblFunction TableSampleClause WithCheckOption SortGroupClause WindowClause
	RowMarkClause SetOperationStmt InlineCodeBlock CallContext A_Const DefElem RoleSpec PartitionRangeDatum
	SinglePartitionSpec ReturnStmt PLAssignStmt`)

// unwritten are fields and values that the parser never fills in: analysis does. An entry is an option, or a node's or
// any node's field (*.field).
var unwritten = words(`*.xpr *.type_oid *.inputcollid *.typmod *.type_id *.type_mod GroupingFunc.refs GroupingFunc.agglevelsup
	SubLink.sub_link_id SubLink.sub_link_type=CTE_SUBLINK SubLink.sub_link_type=MULTIEXPR_SUBLINK
	SubLink.sub_link_type=ROWCOMPARE_SUBLINK CaseExpr.casetype CaseExpr.casecollid RowExpr.row_typeid
	RowExpr.colnames RowExpr.row_format=COERCE_EXPLICIT_CAST RowExpr.row_format=COERCE_SQL_SYNTAX
	CoalesceExpr.coalescetype CoalesceExpr.coalescecollid MinMaxExpr.minmaxtype MinMaxExpr.minmaxcollid
	SQLValueFunction.type XmlExpr.type XmlExpr.arg_names JsonValueExpr.formatted_expr NullTest.argisrow
	SetToDefault.collation CurrentOfExpr.cvarno CurrentOfExpr.cursor_param JoinExpr.rtindex
	JoinExpr.jointype=JOIN_SEMI JoinExpr.jointype=JOIN_ANTI JoinExpr.jointype=JOIN_RIGHT_ANTI
	JoinExpr.jointype=JOIN_UNIQUE_OUTER JoinExpr.jointype=JOIN_UNIQUE_INNER IntoClause.view_query
	FuncCall.funcformat=COERCE_IMPLICIT_CAST FuncCall.funcformat=COERCE_EXPLICIT_CAST ColumnDef.inhcount
	ColumnDef.is_not_null ColumnDef.is_from_type ColumnDef.storage ColumnDef.raw_default ColumnDef.cooked_default
	ColumnDef.identity ColumnDef.identity_sequence ColumnDef.generated ColumnDef.coll_oid
	TableLikeClause.relation_oid LockingClause.strength=LCS_NONE OnConflictClause.action=ONCONFLICT_NONE
	GroupingSet.kind=GROUPING_SET_SIMPLE CTECycleClause.cycle_mark_type CTECycleClause.cycle_mark_typmod
	CTECycleClause.cycle_mark_collation CTECycleClause.cycle_mark_neop CommonTableExpr.cterecursive
	CommonTableExpr.cterefcount CommonTableExpr.ctecolnames CommonTableExpr.ctecoltypes
	CommonTableExpr.ctecoltypmods CommonTableExpr.ctecolcollations MergeWhenClause.command_type=CMD_UNKNOWN
	MergeWhenClause.command_type=CMD_SELECT MergeWhenClause.command_type=CMD_MERGE
	MergeWhenClause.command_type=CMD_UTILITY Constraint.cooked_expr Constraint.inhcount
	Constraint.reset_default_tblspc Constraint.old_conpfeqop Constraint.old_pktable_oid CreateStmt.constraints
	VacuumRelation.oid AlterTableCmd.num AlterTableCmd.recurse CreateTableAsStmt.is_select_into CallStmt.funcexpr
	CallStmt.outargs  JsonFuncExpr.op=JSON_TABLE_OP
	IntoClause.on_commit=ONCOMMIT_NOOP CreateSeqStmt.owner_id CreateSeqStmt.for_identity
	AlterSeqStmt.for_identity JsonOutput.returning
	JsonBehavior.coerce JsonFuncExpr.column_name InsertStmt.override=OVERRIDING_NOT_SET RangeVar.inh
	AlterTableCmd.subtype=AT_AddColumnToView AlterTableCmd.subtype=AT_CookedColumnDefault
	AlterTableCmd.subtype=AT_CheckNotNull AlterTableCmd.subtype=AT_AddIndex AlterTableCmd.subtype=AT_ReAddIndex
	AlterTableCmd.subtype=AT_ReAddConstraint AlterTableCmd.subtype=AT_ReAddDomainConstraint
	AlterTableCmd.subtype=AT_AddIndexConstraint AlterTableCmd.subtype=AT_ReAddComment
	AlterTableCmd.subtype=AT_ReplaceRelOptions AlterTableCmd.subtype=AT_ReAddStatistics XmlExpr.op=IS_XMLSERIALIZE
	XmlExpr.indent JsonFormat.format_type=JS_FORMAT_JSONB JsonBehavior.btype=JSON_BEHAVIOR_EMPTY
	JsonParseExpr.output JsonScalarExpr.output IndexElem.indexcolname IndexElem.ordering=SORTBY_USING
	IndexStmt.exclude_op_names IndexStmt.idxcomment IndexStmt.index_oid IndexStmt.old_number IndexStmt.old_create_subid
	IndexStmt.old_first_relfilelocator_subid IndexStmt.primary IndexStmt.isconstraint IndexStmt.deferrable
	IndexStmt.initdeferred IndexStmt.transformed IndexStmt.reset_default_tblspc`)

// objects are the kinds that the grammar gives to fields which could hold any kind of object.
var objects = map[string]map[string]bool{
	"AlterTableStmt.objtype":    words(`OBJECT_TABLE OBJECT_VIEW OBJECT_INDEX OBJECT_SEQUENCE OBJECT_MATVIEW OBJECT_FOREIGN_TABLE OBJECT_TYPE`),
	"CreateTableAsStmt.objtype": words(`OBJECT_TABLE OBJECT_MATVIEW`),
	"CommentStmt.objtype": words(`OBJECT_TABLE OBJECT_SEQUENCE OBJECT_VIEW OBJECT_MATVIEW OBJECT_INDEX OBJECT_FOREIGN_TABLE
	OBJECT_COLLATION OBJECT_CONVERSION OBJECT_STATISTIC_EXT OBJECT_TSPARSER OBJECT_TSDICTIONARY OBJECT_TSTEMPLATE
	OBJECT_TSCONFIGURATION OBJECT_COLUMN OBJECT_ACCESS_METHOD OBJECT_EVENT_TRIGGER OBJECT_EXTENSION OBJECT_FDW
	OBJECT_LANGUAGE OBJECT_PUBLICATION OBJECT_SCHEMA OBJECT_FOREIGN_SERVER OBJECT_DATABASE OBJECT_ROLE
	OBJECT_SUBSCRIPTION OBJECT_TABLESPACE OBJECT_TYPE OBJECT_DOMAIN OBJECT_AGGREGATE OBJECT_FUNCTION OBJECT_OPERATOR
	OBJECT_TABCONSTRAINT OBJECT_DOMCONSTRAINT OBJECT_POLICY OBJECT_RULE OBJECT_TRIGGER OBJECT_PROCEDURE OBJECT_ROUTINE
	OBJECT_TRANSFORM OBJECT_OPCLASS OBJECT_OPFAMILY OBJECT_LARGEOBJECT OBJECT_CAST`),
	"DropStmt.remove_type": words(`OBJECT_TABLE OBJECT_SEQUENCE OBJECT_VIEW OBJECT_MATVIEW OBJECT_INDEX OBJECT_FOREIGN_TABLE OBJECT_COLLATION
	OBJECT_CONVERSION OBJECT_STATISTIC_EXT OBJECT_TSPARSER OBJECT_TSDICTIONARY OBJECT_TSTEMPLATE
	OBJECT_TSCONFIGURATION OBJECT_ACCESS_METHOD OBJECT_EVENT_TRIGGER OBJECT_EXTENSION OBJECT_FDW OBJECT_PUBLICATION
	OBJECT_SCHEMA OBJECT_FOREIGN_SERVER OBJECT_POLICY OBJECT_RULE OBJECT_TRIGGER OBJECT_TYPE OBJECT_DOMAIN
	OBJECT_LANGUAGE OBJECT_FUNCTION OBJECT_PROCEDURE OBJECT_ROUTINE OBJECT_AGGREGATE OBJECT_OPERATOR OBJECT_OPCLASS
	OBJECT_OPFAMILY OBJECT_CAST OBJECT_TRANSFORM`),
	"RenameStmt.rename_type": words(`OBJECT_AGGREGATE OBJECT_COLLATION OBJECT_CONVERSION OBJECT_DATABASE OBJECT_DOMAIN OBJECT_DOMCONSTRAINT
	OBJECT_FDW OBJECT_FUNCTION OBJECT_ROLE OBJECT_LANGUAGE OBJECT_OPCLASS OBJECT_OPFAMILY OBJECT_POLICY
	OBJECT_PROCEDURE OBJECT_PUBLICATION OBJECT_ROUTINE OBJECT_SCHEMA OBJECT_FOREIGN_SERVER OBJECT_SUBSCRIPTION
	OBJECT_TABLE OBJECT_SEQUENCE OBJECT_VIEW OBJECT_MATVIEW OBJECT_INDEX OBJECT_FOREIGN_TABLE OBJECT_COLUMN
	OBJECT_TABCONSTRAINT OBJECT_RULE OBJECT_TRIGGER OBJECT_EVENT_TRIGGER OBJECT_TABLESPACE OBJECT_STATISTIC_EXT
	OBJECT_TSPARSER OBJECT_TSDICTIONARY OBJECT_TSTEMPLATE OBJECT_TSCONFIGURATION OBJECT_TYPE OBJECT_ATTRIBUTE`),
	"AlterObjectSchemaStmt.object_type": words(`OBJECT_AGGREGATE OBJECT_COLLATION OBJECT_CONVERSION OBJECT_DOMAIN OBJECT_EXTENSION
	OBJECT_FUNCTION OBJECT_OPERATOR OBJECT_OPCLASS OBJECT_OPFAMILY OBJECT_PROCEDURE OBJECT_ROUTINE OBJECT_TABLE
	OBJECT_STATISTIC_EXT OBJECT_TSPARSER OBJECT_TSDICTIONARY OBJECT_TSTEMPLATE OBJECT_TSCONFIGURATION
	OBJECT_SEQUENCE OBJECT_VIEW OBJECT_MATVIEW OBJECT_FOREIGN_TABLE OBJECT_TYPE`),
	"RenameStmt.relation_type": words(`OBJECT_TABLE OBJECT_VIEW OBJECT_MATVIEW OBJECT_FOREIGN_TABLE OBJECT_TYPE`),
}

// codes are the letters that a field may hold.
var codes = map[string]string{
	"RangeVar.relpersistence":   "p t u",
	"Constraint.generated_when": "a d",
	"Constraint.fk_matchtype":   "f s",
	"Constraint.fk_upd_action":  "a r c n d",
	"Constraint.fk_del_action":  "a r c n d",
}

// bitNames are the bits that a field may hold, as PostgreSQL names them. Those that say that a bound was written are no
// options by themselves.
var bitNames = map[string]map[int]string{
	"WindowDef.frame_options": {
		0x2: "RANGE", 0x4: "ROWS", 0x8: "GROUPS", 0x10: "BETWEEN", 0x20: "START_UNBOUNDED_PRECEDING", 0x100: "END_UNBOUNDED_FOLLOWING", 0x200: "START_CURRENT_ROW",
		0x400: "END_CURRENT_ROW", 0x800: "START_OFFSET_PRECEDING", 0x1000: "END_OFFSET_PRECEDING", 0x2000: "START_OFFSET_FOLLOWING",
		0x4000: "END_OFFSET_FOLLOWING", 0x8000: "EXCLUDE_CURRENT_ROW", 0x10000: "EXCLUDE_GROUP", 0x20000: "EXCLUDE_TIES",
	},
}

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// unwritable reports whether an option is one that no client can write.
func unwritable(option string) bool {
	if unwritten[option] {
		return true
	}
	field, value, hasValue := strings.Cut(option, "=")
	if kinds := objects[field]; hasValue && kinds != nil && !kinds[value] {
		return true
	}
	_, name, _ := strings.Cut(field, ".")
	return name != "" && unwritten["*."+name]
}
