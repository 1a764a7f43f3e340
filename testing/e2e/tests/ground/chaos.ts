import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { check } from '../../harness/test.ts'
import { play, sidecarArgs } from './devcluster-process.ts'

const SEEDS = 10
/** E2E_CHAOS_SECONDS makes it shorter. */
const SECONDS = Number(process.env['E2E_CHAOS_SECONDS'] ?? 120)
/** Each seed has a cluster of its own, and all of them side by side need less than two cores. */
const WITHIN_MS = 20 * 60_000

check(
  `embedded cluster: chaos of ${SECONDS} s on each of ${SEEDS} seeds`,
  { target: 'emulator', within: WITHIN_MS },
  async (ground) => {
    const run = async (seed: number): Promise<void> => {
      const folder = join(ground.folder, `seed-${seed}`)
      mkdirSync(folder, { recursive: true })
      await play(folder, [...sidecarArgs(ground.executables), `--chaos=${seed}`, `--chaos-seconds=${SECONDS}`])
    }
    const runs = Array.from({ length: SEEDS }, (_, index) => run(index + 1))
    // Waits for all of them, so that one failure does not hide another.
    const reds = (await Promise.allSettled(runs)).flatMap((run) => (run.status === 'rejected' ? [run.reason] : []))
    if (reds.length > 0) throw new AggregateError(reds, reds.map(String).join('\n'))
  },
)
