import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { type CsiDriver, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { Checker, type Finding } from '../checks/checker.ts'
import { learnAbilities } from '../driver/abilities.ts'
import { DirectCalls } from '../driver/direct-calls.ts'
import { OwnNodes, openOwnNodes } from '../driver/nodes.ts'
import { Setting } from '../questions/setting.ts'

const CLOCK_AND_LOG = { clock: systemClock, log: silentLogger }

/**
 * The services of an emulated driver that a test spoils: its controller service, and one node service for each node.
 */
export interface EmulatedParts {
  readonly driver: CsiDriver
  readonly nodes: readonly CsiDriver[]
}

interface Setup extends Partial<Pick<CsiDriver['settings'], 'controller' | 'node'>> {
  /** The options of the mount at a path. Without it every path counts as mounted without options. */
  readonly mountOptions?: Setting['deps']['mountOptions']
  readonly fsGroupPolicy?: string
  /** True if the CSIDriver has the lifecycle mode Ephemeral. */
  readonly inline?: boolean
}

/** Runs `work` with an emulated driver with two nodes and one bug. Returns the findings and the remaining volumes. */
export async function foundDirectly(
  spoil: (emulated: EmulatedParts) => void,
  work: (setting: Setting) => Promise<void>,
  {
    controller = [],
    node: ofNodes = [],
    mountOptions = async () => new Set(),
    fsGroupPolicy,
    inline = false,
  }: Setup = {},
): Promise<{ readonly findings: readonly Finding[]; readonly left: readonly string[] }> {
  const { signal } = new AbortController()
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'direct-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const usual = { clock: systemClock, nodes: ['worker-1', 'worker-2'] }
  const emulated = stack.use(await startCsiDriver({ ...usual, socket: join(directory, 'csi.sock') }))
  emulated.settings.mutableParameters = ['tier']
  emulated.settings.controller = [...emulated.settings.controller, 'CLONE_VOLUME', ...controller]
  const nodes: CsiDriver[] = []
  for (const nodeId of usual.nodes) {
    const socket = join(directory, `${nodeId}.sock`)
    const node = { ...usual, socket, nodeId, volumes: emulated.volumes, makesTargets: true }
    const started = stack.use(await startCsiDriver(node))
    started.settings.node = [...started.settings.node, ...ofNodes]
    nodes.push(started)
  }
  const { address } = emulated
  const driver = await openDriver({ ...CLOCK_AND_LOG, address, signal, services: 'controller' })
  stack.defer(() => driver.close())
  const addresses = nodes.map((each) => each.address)
  const opened = await openOwnNodes(addresses, { ...CLOCK_AND_LOG, name: driver.name, stack }, signal)
  const ephemeral = inline && { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] }
  const csiDriver = { metadata: { name: driver.name }, spec: { fsGroupPolicy, ...ephemeral } }
  const asked = { address, nodeIds: [], ownNodes: opened, csiDriver, parameters: {}, capabilities: undefined }
  const abilities = await learnAbilities(driver, { ...asked, crash: false, clock: systemClock }, signal)
  const checker = new Checker({ startedAt: systemClock.monotonic(), shortened: (path) => path })
  const calls = new DirectCalls({ clock: systemClock, signal, report: (call) => checker.see(call) })
  const find = checker.report.bind(checker)
  spoil({ driver: emulated, nodes })
  const ownNodes = new OwnNodes(opened, join(directory, 'nodes'))
  const deps = { driver, nodes: ownNodes, abilities, calls, parameters: {}, inlineAttributes: {}, find, unique: '1' }
  // The kill is simulated: `spoil` removes the state that a killed driver with this bug would lose.
  const kill = (): void => spoil({ driver: emulated, nodes })
  const pause = (ms: number): Promise<void> => systemClock.sleep(ms, signal)
  await work(new Setting({ ...deps, mountOptions, csiDriver, pause, kill }))
  return { findings: checker.findings, left: emulated.volumes.all.map(({ id }) => id) }
}
