package statement
import ("testing";"strings";"fmt";"time"
pg "github.com/pganalyze/pg_query_go/v6")
func TestProbe(t *testing.T){
 for _, s := range []string{"SELECT 'äöü' 1 2 3 x y", "SELECT äö ( 1 ) FRM", "SELECT 'ä", "SELECT 1\x00 garbage ((", "SELECT '\xff'"} {
  _, err := pg.Parse(s); fmt.Printf("%q %v\n", s, err); if err!=nil{fmt.Printf("%+v\n",syntaxError(s,err).(*Error).At)}
 }
 for _, n := range []int{1000, 5000, 20000, 100000, 1000000} {
  for _, f := range []func(int)string{
    func(n int)string{return "SELECT "+strings.Repeat("(",n)+"1"+strings.Repeat(")",n)},
    func(n int)string{return "SELECT 1"+strings.Repeat("+1",n)},
    func(n int)string{return "SELECT "+strings.Repeat("not ",n)+"true"},
    func(n int)string{return "SELECT 1"+strings.Repeat(" UNION ALL SELECT 1",n)},
    func(n int)string{return "SELECT "+strings.Repeat("[",n)+"1"},
    func(n int)string{return "SELECT "+strings.Repeat("(select ",n)+"1"+strings.Repeat(")",n)},
    func(n int)string{return "SELECT "+strings.Repeat("f(",n)+"1"+strings.Repeat(")",n)},
  } {
   s := f(n); t0:=time.Now()
   _, err := pg.Parse(s)
   m := fmt.Sprint(err); if len(m)>100 {m=m[:100]}
   fmt.Println(n, s[:20], time.Since(t0), m)
  }
 }
}
func BenchmarkProbe(b *testing.B){ for b.Loop(){ pg.Parse("SELECT 1") } }
func BenchmarkProbeScan(b *testing.B){ for b.Loop(){ scan("SELECT 1") } }
