#!/usr/bin/env bash
# Runs one shard of a batch in each task of a Slurm array: sbatch --array=1-N slurm.sh N [eval] ARGUMENTS, with the arguments of
# `acr-host swe-bench` or `acr-host eval` except --shard. To restart failed shards, use their numbers and the same N: sbatch --array=3,7 slurm.sh …
#SBATCH --job-name=acr-host
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=acr-host-%A_%a.log
set -euo pipefail
[[ ${1-} =~ ^[0-9]+$ ]] || { echo "usage: sbatch --array=1-N slurm.sh N [eval] ARGUMENTS" >&2; exit 2; }
verb=(swe-bench --shard "$1" "${@:2}")
if [[ ${2-} == eval ]]; then
  verb=(eval --shard "$1" "${@:3}")
fi
code=0
acr-host "${verb[@]}" || code=$?
# Slurm requeues tasks of failed nodes. A task that was killed on a working node, such as for lack of memory, is requeued here up to three times.
if ((code == 137 && ${SLURM_RESTART_COUNT:-0} < 3)) && [[ ${SLURM_JOB_ID-} ]]; then
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
