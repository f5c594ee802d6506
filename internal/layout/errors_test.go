package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// toUsers are the folders whose errors SQL clients read.
var toUsers = []string{"engine", "exec", "sql", "wire"}

// L4: users know tables, statements and nodes; that there are packages is ours. The driver begins its errors with its name, as those of
// database/sql do.
func TestErrorsDoNotBeginWithAPackage(t *testing.T) {
	texts := 0
	eachFile(t, func(name string, _ []string) {
		folder := filepath.ToSlash(filepath.Dir(name))
		known := slices.ContainsFunc(toUsers, func(f string) bool { return within(folder, f) })
		if !known || within(folder, "engine/driver") || strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, filepath.Join("../..", name), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains([]string{"New", "Errorf"}, calledName(call)) {
				return true
			}
			for _, argument := range call.Args {
				literal, ok := argument.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				texts++
				head, _, _ := strings.Cut(text, ": ")
				require.False(t, head != text && (head == folder || strings.HasSuffix(folder, "/"+head) ||
					slices.Contains(toUsers, head)), "%s: the error begins with the name of a package: %s", files.Position(literal.Pos()), text)
			}
			return true
		})
	})
	require.Greater(t, texts, 500, "hardly any texts were found: the test looks in the wrong place")
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
