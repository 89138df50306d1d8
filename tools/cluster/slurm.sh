#!/usr/bin/env bash
# One shard of a batch for each task of a Slurm array; the arguments are those of `acr-host swe-bench` without --shard.
#SBATCH --job-name=acr-host
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=acr-host-%A_%a.log
set -euo pipefail
exec acr-host swe-bench --shard "$SLURM_ARRAY_TASK_COUNT" "$@"
