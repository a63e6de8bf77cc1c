package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when we die, however we die. The
// child is in a process group of its own, so that ctrl-C at the terminal
// reaches only us, who stop it in order.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
