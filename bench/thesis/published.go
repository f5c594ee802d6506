package thesis

import "time"

// Ms are their times, which they give in milliseconds.
func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// Published are figures of the thesis' tables; the HCDS paper's Table 1 has those of Create remote, too.
var Published = struct {
	FlushEmptyLocal, FlushEmptyRemote, FlushTouchedLocal, FlushTouchedRemote time.Duration // Table 5.2
	Serialize, Deserialize                                                   time.Duration // Table 5.3
	AllocateLocal, AllocateRemote                                            time.Duration // Table 5.4
	CreateRemote, CreateLocal                                                CreateParts   // Table 5.5
}{
	ms(53.12), ms(51.84), ms(60.32), ms(88.57),
	ms(0.058), ms(0.019),
	ms(3.13), ms(4.99),
	CreateParts{Allocate: ms(4.99), BeforeWrite: ms(51.84), Write: ms(180), Flush: ms(60.32), Serialize: ms(0.058), Send: ms(3.23)},
	CreateParts{Allocate: ms(3.13), BeforeWrite: ms(51.84), Write: ms(10), Serialize: ms(0.058), Send: ms(3.23)},
}

// CreateParts are Table 5.5's lines.
type CreateParts struct {
	Allocate, BeforeWrite, Write, Flush, Serialize, Send time.Duration
}

// Total of them.
func (p CreateParts) Total() time.Duration {
	return p.Allocate + p.BeforeWrite + p.Write + p.Flush + p.Serialize + p.Send
}

// Overhead is what comes on top of the write, as a share of it.
func (p CreateParts) Overhead() float64 { return float64(p.Total()-p.Write) / float64(p.Write) }

// What the figures show is not printed in the thesis; these are the measurements that its author published with the
// program (abs-tudelft/memory-disaggregation-ThymesisFlow-Arrow, examples/1_component_benchmark/TEST_FINALISED,
// bm_*.csv).
var (
	// PublishedTransfers is Figure 5.1: milliseconds to get at the first 1/20, 2/20, … of 157,286,400 rows.
	PublishedTransfers = struct{ Full, Descriptor []float64 }{
		[]float64{398.721, 777.563, 1180.03, 1549.93, 2031.29, 2239.22, 2753.64, 3130.95, 3251.25, 4151.83, 4119.15, 4007.83, 5101.81, 5307.03, 5979.59, 6030, 6114.5, 5904.18, 7805.56, 8045.92},
		[]float64{87.4501, 145.011, 87.1913, 87.1467, 87.0816, 87.0362, 87.0284, 86.884, 86.7547, 87.079, 86.8798, 86.9803, 87.0736, 87.157, 87.1541, 86.8943, 86.7597, 86.9132, 86.9922, 87.1876},
	}
	// publishedWidths is Figure 5.2: GiB/s by place, reading or writing, threads; of 8, 16, 32 and 64 bits.
	publishedWidths = map[widthKey][4]float64{
		{"local", true, 1}:    {1.15488, 5.70849, 7.56865, 10.1734},
		{"local", true, 4}:    {4.95779, 28.4316, 43.0366, 9.12642},
		{"local", true, 48}:   {5.24325, 65.4134, 46.3989, 70.4427},
		{"local", false, 1}:   {1.75335, 3.49562, 6.70203, 12.1025},
		{"local", false, 4}:   {6.43723, 11.2666, 14.9847, 20.0369},
		{"local", false, 48}:  {21.0577, 43.7858, 35.6801, 91.2328},
		{"remote", true, 1}:   {1.11923, 5.5546, 5.78259, 5.63796},
		{"remote", true, 4}:   {4.49027, 4.36984, 5.94446, 4.68967},
		{"remote", true, 48}:  {4.51797, 5.52802, 5.56535, 5.47047},
		{"remote", false, 1}:  {1.10934, 1.14582, 1.15494, 1.127},
		{"remote", false, 4}:  {2.07472, 4.39987, 4.458, 4.81178},
		{"remote", false, 48}: {5.80025, 6.06679, 6.01651, 5.96052},
	}
	// publishedStrides is Figure 5.3: GiB/s by place and reading or writing, for strides of 1, 2, 4, … elements of 64
	// bits. Remote reading was measured three times, and the figure shows the means.
	publishedStrides = map[strideKey][12]float64{
		{"local", false}:  {229.6, 103.776, 53.2123, 25.6609, 13.5129, 6.36212, 3.3152, 1.71715, 1.8112, 1.21443, 1.07448, 0.74535},
		{"local", true}:   {126.28, 52.0402, 22.7461, 12.2936, 6.90598, 3.47023, 1.9182, 0.851748, 0.790081, 0.545953, 0.425138, 0.257246},
		{"remote", false}: {6.10011, 2.74691, 1.52929, 0.764674, 0.37897, 0.18887, 0.152927, 0.144689, 0.148075, 0.145199, 0.145571, 0.249443},
		{"remote", true}:  {5.30425, 2.36116, 1.17158, 0.573277, 0.282802, 0.278545, 0.153417, 0.152846, 0.151303, 0.145616, 0.133776, 0.114695},
	}
)

type widthKey struct {
	place   string
	write   bool
	threads int
}

type strideKey struct {
	place string
	write bool
}
