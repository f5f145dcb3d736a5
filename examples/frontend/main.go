// Command frontend is an example of a front-end: it knows the programs by the
// contract alone, which is baked in, and imports nothing of Slipway.
//
// It rejects a program that does not exist or is not published, a variable that
// the program does not read, a secret that comes over the network, and a request
// that lacks what is required, all before anything is started. What it starts
// gets the variables of the request, the files of secrets, and a short fixed
// list. Whoever builds upon it adds who may do what, and which variables a caller
// may set: some name paths, and some what is run here (TOFU_PATH, the module
// sources, what Go and pip fetch from). Here everybody may who reaches the port,
// which is why it is on loopback, and a page of another site may not.
//
//	slipway contract > contract.json
//	go build
//	frontend -run bin/slipway -secrets /run/secrets
//	curl localhost:8080/programs
//	curl localhost:8080/programs/operator-ssh-web-plan -d '{"variables":{"SSH_HOST":"192.0.2.7"}}'
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve")
	run := flag.String("run", "slipway", "the binary of all programs")
	secrets := flag.String("secrets", "", "folder with a file for each secret, named like its variable")
	flag.Parse()
	binary, err := exec.LookPath(*run)
	if err == nil {
		binary, err = filepath.Abs(binary)
	}
	if err == nil {
		err = serve(*listen, frontend{contract: baked(), run: binary, secrets: *secrets})
	}
	log.Fatal(err)
}

func serve(address string, f frontend) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "http://%s/programs\n", listener.Addr())
	// No WriteTimeout: a job answers for as long as it runs.
	server := &http.Server{Handler: http.NewCrossOriginProtection().Handler(f.routes()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute}
	return server.Serve(listener)
}
