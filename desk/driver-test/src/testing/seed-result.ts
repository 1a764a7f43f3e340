import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import type { Devcluster } from '@csi-sidecars/devcluster'
import { SUBSTITUTES, startSubstitutes } from '@csi-sidecars/devcluster/testing/substitutes'
import { type CsiDriver, type CsiDriverOptions, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { learnAbilities } from '../driver/abilities.ts'
import { openOwnNodes } from '../driver/nodes.ts'
import { runSeed, type SeedResult } from '../seed.ts'
import { SNAPSHOTS } from './snapshots.ts'

const NEVER = new AbortController().signal
const CLOCK_AND_LOG = { clock: systemClock, log: silentLogger }

interface SeedResultOptions {
  /** The number of node services with separate sockets. */
  readonly nodes?: number
  readonly durationMs?: number
  /** Default: 45 s, because several seeds share one process in a test. An object that converges ends the wait. */
  readonly convergeMs?: number
  readonly spoil?: (driver: CsiDriver, nodes: readonly CsiDriver[]) => void
  readonly signal?: AbortSignal
  /** True if the run includes the direct calls at the end. */
  readonly strict?: boolean
  /** True if the driver creates and lists snapshots. */
  readonly snapshots?: boolean
  /** The path of an attacher that runs in addition to the substitutes. */
  readonly attacher?: string
}

/**
 * Returns the result of seed 1 for an emulated driver, with substitutes for the sidecars. A file may have at most five
 * concurrent tests with seeds: Jest starts five tests at once, and refuses dynamic imports after the end of the first.
 */
export async function seedResult({
  nodes: count = 0,
  durationMs = 4_000,
  convergeMs = 45_000,
  spoil,
  signal = NEVER,
  strict = false,
  snapshots = false,
  attacher,
}: SeedResultOptions = {}): Promise<SeedResult> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'driver-test-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const start = (name: string, options: Partial<CsiDriverOptions>): Promise<CsiDriver> =>
    startCsiDriver({ ...options, socket: join(directory, `${name}.sock`), clock: systemClock })
  const driver = stack.use(
    await start('driver', { plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'] }),
  )
  driver.settings.mutableParameters = ['tier']
  driver.settings.nodes = count > 0 ? ['worker-1', 'worker-2', 'worker-3'] : ['node-a', 'node-b']
  driver.settings.controller = [...driver.settings.controller, 'CLONE_VOLUME', ...(snapshots ? SNAPSHOTS : [])]
  const nodes: CsiDriver[] = []
  for (let at = 1; at <= count; at += 1) {
    const place = { nodeId: `worker-${at}`, topology: { zone: at > 2 ? 'west' : 'east' } }
    nodes.push(stack.use(await start(`node-${at}`, { ...place, volumes: driver.volumes, makesTargets: true })))
  }
  spoil?.(driver, nodes)
  const { address } = driver
  const direct = await openDriver({ ...CLOCK_AND_LOG, address, signal, services: 'controller' })
  stack.defer(() => direct.close())
  const ownNodes = await openOwnNodes(
    nodes.map((each) => each.address),
    { ...CLOCK_AND_LOG, name: direct.name, stack },
    signal,
  )
  const csiDriver = {
    metadata: { name: direct.name },
    spec: { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  }
  const nodeIds = ['node-a', 'node-b']
  const asked = { address, nodeIds, ownNodes, csiDriver, parameters: {}, capabilities: undefined, crash: false }
  const abilities = await learnAbilities(direct, { ...asked, clock: systemClock }, signal)
  const names = [...SUBSTITUTES, ...(snapshots ? (['csi-snapshotter'] as const) : [])]
  const substitutes = (cluster: Devcluster): void => startSubstitutes(cluster, CLOCK_AND_LOG, names)
  const times = { seed: 1, durationMs, convergeMs }
  const folders = { directory, data: join(directory, 'nodes') }
  return await runSeed(
    {
      ...times,
      ...folders,
      abilities,
      parameters: {},
      inlineAttributes: {},
      strict,
      csiDriver,
      binaries: { attacher },
    },
    { direct, address, ownNodes, ownProcess: undefined, ...CLOCK_AND_LOG, substitutes },
    signal,
  )
}
