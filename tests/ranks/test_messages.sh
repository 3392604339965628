#!/bin/sh
# Messages in pieces, between ranks. usage: test_messages.sh PROGRAM MPIRUN, where the program is that of test_messages.c
set -u
program=$1
mpirun=$2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"
for ranks in 2 3 5; do launch 0 $ranks; done
[ $failures -eq 0 ]
