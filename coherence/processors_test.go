//go:build linux && amd64

package coherence

import (
	"os/exec"
	"testing"
)

// emulators are the user-mode emulators of Debian's qemu-user-static, and of qemu-user.
var emulators = map[string][]string{
	"arm64":   {"qemu-aarch64-static", "qemu-aarch64"},
	"ppc64le": {"qemu-ppc64le-static", "qemu-ppc64le"},
}

// emulates names what an emulator does otherwise than a processor: QEMU's DC CIVAC does nothing, so it does not fault.
var emulates = map[string]string{"arm64": "TestGuardFaults", "ppc64le": "^$"}

// TestOnOtherProcessors runs the tests of this package, those that need no hours of emulation, for arm64 and ppc64le: the
// assembly over pages with forbidden neighbours, the litmus tests, the drivers with real flushes.
func TestOnOtherProcessors(t *testing.T) {
	for _, architecture := range architectures()[1:] {
		t.Run(architecture, func(t *testing.T) {
			emulator := ""
			for _, name := range emulators[architecture] {
				if path, err := exec.LookPath(name); err == nil && emulator == "" {
					emulator = path
				}
			}
			if emulator == "" {
				t.Skipf("none of %v is installed (Debian: qemu-user-static): nothing of %s is run, only assembled and vetted", emulators[architecture], architecture)
			}
			t.Setenv(emulatedVariable, "yes")
			t.Log(goTool(t, ".", architecture, "test", "-exec", emulator, "-count=1", "-timeout", "5m",
				"-run", "Probe|Flush(Touches|Keeps)|Guard|Pieces|Litmus|Histories|Home|Grant|RealRegion|Concurrent|Copy|Chooser",
				"-skip", emulates[architecture], "."))
		})
	}
}
