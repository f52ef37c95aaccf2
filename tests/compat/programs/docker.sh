# Go programs bring their own heap: the recorder sees what their C parts allocate.
. "$(dirname "$0")/common.sh"
export DOCKER_CONFIG=$WORK/docker DOCKER_HOST=tcp://127.0.0.1:$PORT
under docker --version
under docker info --format '{{.ClientInfo.Context}}' 2>/dev/null; echo "exit $?"
under docker run x 2>err; echo "exit $?"; grep -c 'Cannot connect' err
under docker context ls --format '{{.Name}}'
under go version; under go env GOOS GOARCH
printf 'package main\nimport ("fmt"; "sync"; "os/exec")\nfunc main() { var w sync.WaitGroup; n := make([]int, 100); for i := range n { w.Add(1); go func(i int) { n[i] = len(make([]byte, i*1000)); w.Done() }(i) }; w.Wait(); s := 0; for _, x := range n { s += x }; o, _ := exec.Command("echo", "child").Output(); fmt.Println(s, string(o)) }\n' >a.go
GOCACHE=$WORK/cache GOFLAGS=-mod=mod under go run a.go; echo "exit $?"
