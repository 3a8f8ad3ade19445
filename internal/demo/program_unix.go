//go:build unix

package demo

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// killGroup ends what is left of the program's group. That nothing is left is
// the usual case, and no error.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
