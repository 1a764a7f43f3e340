import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it, jest } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'
import { runChaos } from './run.ts'
import { emulatedTarget } from './seeds.ts'

jest.setTimeout(60_000)

/** The long ones, with the real sidecars, are a flag of the program itself. */
const SEEDS = [
  { seed: 1, profile: 'all' as const, durationMs: 4_000 },
  { seed: 2, profile: 'restarts' as const, durationMs: 3_000 },
]

describe('a cluster in which anything may fail at any time', () => {
  it.each(SEEDS)('keeps the invariants, and converges: seed $seed, $profile', async (options) => {
    await using test = await startTestCluster({ nodes: 3 })
    const { api, driver, cluster } = test
    const { controllers, nodeNames: nodes } = cluster
    const sidecars = ['csi-attacher', 'csi-resizer']
    const killSidecar = (which: number): Promise<void> => controllers.restart(sidecars[which % sidecars.length] ?? '')
    const parts = { api, controllers, nodes, killSidecar, clock: systemClock, log: silentLogger }
    const target = { ...parts, driver: emulatedTarget(driver, systemClock) }
    const result = await runChaos(target, { ...options, convergeMs: 30_000 }, new AbortController().signal)
    expect(result).toMatchObject({ violations: [], missing: [], left: [] })
    expect(result.actions).toBeGreaterThan(15)
  })
})
