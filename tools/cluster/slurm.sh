#!/usr/bin/env bash
# One shard of a batch for each task of a Slurm array: sbatch --array=1-N slurm.sh N [eval] ARGUMENTS, those of `acr-host swe-bench`
# or `acr-host eval` without --shard. What was lost is submitted again by its numbers, with the same N: sbatch --array=3,7 slurm.sh …
#SBATCH --job-name=acr-host
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=acr-host-%A_%a.log
set -euo pipefail
[[ ${1-} =~ ^[0-9]+$ ]] || { echo "usage: sbatch --array=1-N slurm.sh N [eval] ARGUMENTS" >&2; exit 2; }
if [[ ${2-} == eval ]]; then
  exec acr-host eval --shard "$1" "${@:3}"
fi
exec acr-host swe-bench --shard "$1" "${@:2}"
