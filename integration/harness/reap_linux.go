package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the child when this process dies for any reason. The
// child is in a process group of its own, so that ctrl-C in the terminal reaches only this
// process, which stops the child in order.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
