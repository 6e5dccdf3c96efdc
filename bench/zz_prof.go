package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var cpuUsed [2]float64
var wallUsed [2]float64
var srvUsed [2]float64
var srvPID int

func srvNow() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", srvPID))
	f := strings.Fields(string(b))
	if len(f) < 15 {
		return 0
	}
	u, _ := strconv.ParseFloat(f[13], 64)
	v, _ := strconv.ParseFloat(f[14], 64)
	return (u + v) / 100
}

func cpuNow() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// profiled measures CPU of each side; PROF_SIDE=0|1 writes a profile of that side alone.
func profiled(which int, f timed) (time.Duration, error) {
	if os.Getenv("PROF_SIDE") == fmt.Sprint(which) {
		out, _ := os.Create(fmt.Sprintf("%s.%d", os.Getenv("PROF_OUT"), time.Now().UnixNano()))
		pprof.StartCPUProfile(out)
		defer func() { pprof.StopCPUProfile(); out.Close() }()
	}
	b, sb := cpuNow(), srvNow()
	t, err := f()
	cpuUsed[which] += cpuNow() - b
	srvUsed[which] += srvNow() - sb
	wallUsed[which] += t.Seconds()
	return t, err
}

func profReport(n int) {
	fmt.Fprintf(os.Stderr, "pairs %d cpu ours %.3f hand %.3f ratio %.3f wall %.3f %.3f ratio %.3f\n", n, cpuUsed[0]/float64(n), cpuUsed[1]/float64(n), cpuUsed[0]/cpuUsed[1], wallUsed[0]/float64(n), wallUsed[1]/float64(n), wallUsed[0]/wallUsed[1])
	fmt.Fprintf(os.Stderr, "pairs server cpu %.3f %.3f ratio %.3f\n", srvUsed[0]/float64(n), srvUsed[1]/float64(n), srvUsed[0]/srvUsed[1])
	srvUsed = [2]float64{}
	cpuUsed, wallUsed = [2]float64{}, [2]float64{}
}
