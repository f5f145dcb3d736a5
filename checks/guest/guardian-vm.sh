# Runs the command line "$@", and kills its whole process group when the pipe on
# standard input closes. Output goes to a file: nobody may be left to read it.
exec >machine.log 2>&1
"$@" </dev/null &
machine=$!
exec 3<&0 </dev/null
{ read -r _ <&3; kill -KILL 0; } &
exec 3<&-
wait $machine
