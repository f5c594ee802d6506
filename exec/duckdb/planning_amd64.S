// The functions of DuckDB's planner at whose calls planning.c looks for interrupts. A wrapper leaves everything that a
// caller of System V's amd64 ABI passes where it is, and goes on to the function itself, so that none needs to know
// what that takes and returns. Exceptions pass through it by its call frame information.

#define WRAP(name)                          \
	.weak __real_##name;                \
	.globl __wrap_##name;               \
	.type __wrap_##name, @function;     \
__wrap_##name:                              \
	.cfi_startproc;                     \
	pushq %rdi; .cfi_adjust_cfa_offset 8; \
	pushq %rsi; .cfi_adjust_cfa_offset 8; \
	pushq %rdx; .cfi_adjust_cfa_offset 8; \
	pushq %rcx; .cfi_adjust_cfa_offset 8; \
	pushq %r8;  .cfi_adjust_cfa_offset 8; \
	pushq %r9;  .cfi_adjust_cfa_offset 8; \
	subq $8, %rsp; .cfi_adjust_cfa_offset 8; \
	call csm_planning_look@PLT;         \
	addq $8, %rsp; .cfi_adjust_cfa_offset -8; \
	popq %r9;  .cfi_adjust_cfa_offset -8; \
	popq %r8;  .cfi_adjust_cfa_offset -8; \
	popq %rcx; .cfi_adjust_cfa_offset -8; \
	popq %rdx; .cfi_adjust_cfa_offset -8; \
	popq %rsi; .cfi_adjust_cfa_offset -8; \
	popq %rdi; .cfi_adjust_cfa_offset -8; \
	jmp __real_##name@PLT;              \
	.cfi_endproc;                       \
	.size __wrap_##name, .-__wrap_##name

	.text
// Transformer::TransformExpression(optional_ptr<PGNode>), (PGNode &)
WRAP(_ZN6duckdb11Transformer19TransformExpressionENS_12optional_ptrIN17duckdb_libpgquery6PGNodeELb1EEE)
WRAP(_ZN6duckdb11Transformer19TransformExpressionERN17duckdb_libpgquery6PGNodeE)
// Binder::CreateBinder, Binder::Bind(TableRef &)
WRAP(_ZN6duckdb6Binder12CreateBinderERNS_13ClientContextENS_12optional_ptrIS0_Lb1EEENS_10BinderTypeE)
WRAP(_ZN6duckdb6Binder4BindERNS_8TableRefE)
// ExpressionBinder::BindChild, Bind, Bind
WRAP(_ZN6duckdb16ExpressionBinder9BindChildERNS_10unique_ptrINS_16ParsedExpressionESt14default_deleteIS2_ELb1EEEmRNS_9ErrorDataE)
WRAP(_ZN6duckdb16ExpressionBinder4BindERNS_10unique_ptrINS_16ParsedExpressionESt14default_deleteIS2_ELb1EEEmb)
WRAP(_ZN6duckdb16ExpressionBinder4BindERNS_10unique_ptrINS_16ParsedExpressionESt14default_deleteIS2_ELb1EEENS_12optional_ptrINS_11LogicalTypeELb1EEEb)
// LogicalOperatorVisitor::VisitExpression
WRAP(_ZN6duckdb22LogicalOperatorVisitor15VisitExpressionEPNS_10unique_ptrINS_10ExpressionESt14default_deleteIS2_ELb1EEE)
// ExpressionIterator::EnumerateChildren, LogicalOperator::Copy
WRAP(_ZN6duckdb18ExpressionIterator17EnumerateChildrenERKNS_10ExpressionERKSt8functionIFvS3_EE)
WRAP(_ZN6duckdb18ExpressionIterator17EnumerateChildrenERNS_10ExpressionERKSt8functionIFvRNS_10unique_ptrIS1_St14default_deleteIS1_ELb1EEEEE)
WRAP(_ZN6duckdb18ExpressionIterator17EnumerateChildrenERNS_10ExpressionERKSt8functionIFvS2_EE)
WRAP(_ZNK6duckdb15LogicalOperator4CopyERNS_13ClientContextE)
// FilterPushdown::Rewrite
WRAP(_ZN6duckdb14FilterPushdown7RewriteENS_10unique_ptrINS_15LogicalOperatorESt14default_deleteIS2_ELb1EEE)

	.section .note.GNU-stack, "", @progbits
