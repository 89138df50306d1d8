#!/usr/bin/env bash
# One shard of a batch for each task of a Slurm array: sbatch --array=1-N slurm.sh N [eval] ARGUMENTS, those of `acr-host swe-bench`
# or `acr-host eval` without --shard. What was lost is submitted again by its numbers, with the same N: sbatch --array=3,7 slurm.sh …
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
# Slurm puts back what a node lost. What was killed on a sound node, out of memory for instance, is put back here, three times.
if ((code == 137 && ${SLURM_RESTART_COUNT:-0} < 3)) && [[ ${SLURM_JOB_ID-} ]]; then
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
