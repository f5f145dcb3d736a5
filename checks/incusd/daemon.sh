# The first process of the daemon's name space: starts it, sets it up, and takes in
# who may do everything.
set -eu
/usr/libexec/incus/incusd --group root --logfile /var/log/incus/incusd.log &
incus admin waitready --timeout 300
incus admin init --preseed </share/preseed.yaml
incus config trust add-certificate /share/admin.crt
cp /var/lib/incus/server.crt /share/server.crt
touch /share/ready
wait
